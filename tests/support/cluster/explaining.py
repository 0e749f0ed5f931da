"""Runs `appwrapper explain` in this process, as somebody, and compares what it says."""

import asyncio
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from cli.main import main
from cli.terminal import Terminal
from localcluster.access.running import RunningCluster

_CLOCK: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d) UTC"
_SPAN: Final = r"\d+ (s|min|h|d)( \d+ (s|min|h))?"
# What differs from run to run, as texts that are expected name it.
_WORDS: Final = {
    "<ago>": rf"{_CLOCK}, {_SPAN} ago",
    "<soon>": rf"{_CLOCK}, in {_SPAN}",
    "<span>": _SPAN,
    "<node>": r"gpu-node-\d+",
    "<id>": r"[0-9a-f-]{36}",
    "<suffix>": "[a-z0-9]{5}",
    "<scheduler>": r"0/\d+ nodes are available: .+\.",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """What the command left behind."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> Any:
        """Of -o json; it succeeded and warned of nothing."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)


async def explain(cluster: RunningCluster, namespace: str, *arguments: str) -> Explained:
    """`appwrapper explain ARGUMENTS`, by an admin unless `--as` says otherwise."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, err, {"COLUMNS": "400"})
    where = ("--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace)
    code = await asyncio.to_thread(main, ["explain", *arguments, *where], terminal)
    return Explained(code, out.getvalue(), err.getvalue())


async def answer(cluster: RunningCluster, namespace: str, name: str) -> tuple[str, str]:
    """The situation that one is in, and the first sentence."""
    report = (await explain(cluster, namespace, name, "--output", "json")).report
    return report["situation"], report["answer"]


def says(expected: str, said: str) -> bool:
    """Whether that is the whole text, word for word but for what _WORDS stand for."""
    parts = re.split(f"({'|'.join(map(re.escape, _WORDS))})", expected)
    pattern = "".join(_WORDS.get(each, re.escape(each)) for each in parts)
    return re.fullmatch(pattern, said) is not None


def as_expected(expected: tuple[str, ...], said: list[str]) -> list[str]:
    """What was said, with the expected text wherever it agrees: to compare with `expected`."""
    padded = [*expected, *[""] * len(said)]
    return [want if says(want, text) else text for want, text in zip(padded, said, strict=False)]
