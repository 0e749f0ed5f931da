"""Types a page's commands as a person would, and compares the output with the page's."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from localcluster.machine.child import captured
from tests.support.cluster.kubectl import without_asides
from tests.support.manifests import ROOT
from tests.support.patience import KUBECTL_PATIENCE

REFUSED = "# refused"
"""The comment on a page behind a command that must fail."""
_ANYTHING = "…"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{2,4}) (.+)$", re.MULTILINE)
_AGE = re.compile(r"\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?[smhd]\b")
# A page promises no duration by it: on a busy machine a person would wait for longer.
_TIMEOUT = re.compile(r"--timeout=\d+[sm]\b")
# make passes its own variables to its children: a person's make has no parent.
_OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")


@dataclass(frozen=True, slots=True)
class Block:
    """Commands of a page below its heading, and their output on the page, if any."""

    heading: str
    line: int
    commands: str
    shown: str | None

    @property
    def is_refused(self) -> bool:
        return self.commands.rstrip().endswith(REFUSED)


def blocks_of(page: Path) -> list[Block]:
    """Returns all shell blocks of a page, in order."""
    text = page.read_text()
    headings = list(_HEADING.finditer(text))
    fenced = list(_FENCED.finditer(text))
    found = []
    for each, after in zip_longest(fenced, fenced[1:]):
        if each[1] != "sh":
            continue
        is_shown = after is not None and after[1] == "" and _is_next(text, each, after)
        found.append(
            Block(
                heading=[one[2] for one in headings if one.start() < each.start()][-1],
                line=text.count("\n", 0, each.start()) + 1,
                commands=each[2],
                shown=after[2] if is_shown and after else None,
            )
        )
    return found


def commands_below(heading: str, page: str) -> str:
    """Returns the first shell block below a heading, as `## Words`, of a page of this
    repository.
    """
    words = heading.lstrip("# ")
    return next(each.commands for each in blocks_of(ROOT / page) if each.heading == words)


def _is_next(text: str, block: re.Match[str], after: re.Match[str]) -> bool:
    return text[block.end() : after.start()].strip() == ""


def shows(shown: str, output: str) -> bool:
    """True if the output is the one on the page.

    Widths of columns and ages do not count. `…` in a line is any text, as a line of its own any
    number of lines.
    """
    pattern = ""
    for line in shown.strip().splitlines():
        if line.strip() == _ANYTHING:
            pattern += "(?:.*\n)*?"
        else:
            parts = [re.escape(part) for part in _plain(line).split(_ANYTHING)]
            pattern += ".*".join(parts) + "\n"
    printed = "".join(f"{_plain(line)}\n" for line in output.strip().splitlines())
    return re.fullmatch(pattern, printed) is not None


def _plain(line: str) -> str:
    return " ".join(_AGE.sub("AGE", line).split())


class Person:
    """Types a page's commands into one shell after the other, as if it were the same one.

    `instead` is the page's text -> the text to type, for examples that only the reader can replace.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        notes: Path,
        instead: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._environment = {
            name: value
            for name, value in (os.environ | {"COLUMNS": "250"} | dict(environment)).items()
            if name not in _OF_MAKE
        }
        self._exported = notes / "exported"
        self._instead = dict(instead or {})

    async def types(self, block: Block) -> str:
        """Returns its output. Asserts that it succeeds, or is rejected, and matches the page."""
        script = "\n".join(
            (
                "set -euo pipefail",
                f"if [ -f '{self._exported}' ]; then source '{self._exported}'; fi",
                f"trap \"export -p > '{self._exported}'\" EXIT",
                _TIMEOUT.sub(KUBECTL_PATIENCE, self.would_type(block.commands)),
            )
        )
        code, output = await self._run(("bash", "-c", script))
        problem = f"{block.heading}, line {block.line}: exit code {code}\n{output}"
        if (code != 0) != block.is_refused:
            raise AssertionError(problem)
        if block.shown is not None:
            expected = self.would_type(block.shown)
            if not shows(expected, without_asides(output)):
                raise AssertionError(f"{problem}\nis not what the page shows:\n{expected}")
        return output

    async def _run(self, command: Sequence[str]) -> tuple[int, str]:
        """Returns the exit code and what is printed."""
        return await captured(command, environment=self._environment, folder=self._folder)

    def would_type(self, text: str) -> str:
        """Returns the text with its examples replaced."""
        for example, own in self._instead.items():
            text = text.replace(example, own)
        return text
