"""Writes the captures of docs/users: `python -m tests.support.explain_captures`.

Each capture is the output of `appwrapper explain` for a situation of the builders, so that no
cluster is needed. A unit test fails if one is stale.
"""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.compose import explain
from cli.explaining.report import Situation
from cli.explaining.text import render, render_line
from cli.reports import as_json, to_text
from cli.terminal import CommandTerminal
from tests.support.builders.explained import deployed, ending, waiting

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "users" / "explain.md"
FOLDER = PAGE.parent / "captures"
SITUATIONS: dict[str, Callable[[], AppWrapperObjects]] = {
    **waiting.SITUATIONS,
    **deployed.SITUATIONS,
    **ending.SITUATIONS,
}
WIDTHS = (80, 160)
# Situations whose whole output is captured.
SHOWN = (
    "waits-for-quota",
    "preempted",
    "never-fits",
    "not-readable",
    "unschedulable",
    "crashing",
    "unhealthy",
    "retry-pause",
    "reset-blocked",
    "failed",
    "runs",
)
AS_JSON = ("waits-for-quota", "unhealthy")
_TABLE = re.compile(r"(?<=<!-- situations -->\n).*?(?=<!-- end -->)", re.DOTALL)


def captures() -> dict[Path, str]:
    """Returns every file of the folder, with its content."""
    found = {}
    for name in SHOWN:
        for width in WIDTHS:
            found[FOLDER / f"explain-{name}-{width}.txt"] = capture(name, width)
    for width in WIDTHS:
        found[FOLDER / f"explain-all-{width}.txt"] = capture_all(width)
    for name in AS_JSON:
        report = explain(SITUATIONS[name]())
        found[FOLDER / f"explain-{name}.json"] = to_text(as_json(report), "json")
    found[FOLDER / "explain-answers.txt"] = answers()
    return found


def capture(name: str, width: int) -> str:
    """Returns the command's output in a window of that width."""
    return _printed(render(explain(SITUATIONS[name]())), width)


def capture_all(width: int) -> str:
    """Returns the output of `explain --all` for a few situations."""
    names = ("waits-for-quota", "unschedulable", "retry-pause", "succeeded")
    return _printed(render_line([explain(SITUATIONS[name]()) for name in names]), width)


def page(text: str) -> str:
    """Returns the page with new captures and a new table of situations."""
    parts = re.split(r"(<!-- capture \S+ -->\n```\n).*?(?=```\n)", text, flags=re.DOTALL)
    shown = [parts[0]]
    for mark, rest in zip(parts[1::2], parts[2::2], strict=True):
        name = mark.split()[2]
        shown += [mark, capture(name, 80), rest]
    return _TABLE.sub(lambda _: situations_table(), "".join(shown))


def situations_table() -> str:
    """Returns a row per situation: its name for programs, and how it comes about."""
    causes: dict[Situation, list[str]] = {}
    for build in SITUATIONS.values():
        how = " ".join((build.__doc__ or "").split())
        causes.setdefault(explain(build()).situation, []).append(how)
    lines = ["| `situation` | How it comes about |", "|---|---|"]
    lines += [f"| `{name}` | {' '.join(found)} |" for name, found in causes.items()]
    return "\n".join(lines) + "\n"


def answers() -> str:
    """Returns the answer to each situation, below its cause."""
    parts = []
    for build in SITUATIONS.values():
        how = " ".join((build.__doc__ or "").split())
        parts.append(f"{how}\n{explain(build()).answer}\n")
    return "\n".join(parts)


def _printed(shown: object, width: int) -> str:
    """Returns lines without the blanks that fill a table's last column."""
    stream = io.StringIO()
    CommandTerminal(stdout=stream, environment={"COLUMNS": f"{width}"}).console().print(shown)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def main() -> int:
    """Writes every capture, and the page that shows them."""
    for file, content in captures().items():
        file.write_text(content)
    PAGE.write_text(page(PAGE.read_text()))
    names = ", ".join(str(each.relative_to(REPOSITORY)) for each in (PAGE, FOLDER))
    sys.stdout.write(f"wrote {names}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
