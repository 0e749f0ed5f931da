"""Runs `appwrapper explain` in this process, as a given user, and compares its output."""

import asyncio
import json
import re
from typing import Any, Final

from localcluster.access.running import RunningCluster
from tests.support.command import Ended, appwrapper

_CLOCK: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d) UTC"
_SPAN: Final = r"\d+ (s|min|h|d)( \d+ (s|min|h))?"
# Text that differs from run to run, by its placeholder in expected texts.
_WORDS: Final = {
    "<ago>": rf"{_CLOCK}, {_SPAN} ago",
    "<soon>": rf"{_CLOCK}, in {_SPAN}",
    "<span>": _SPAN,
    "<node>": r"gpu-node-\d+",
    "<id>": r"[0-9a-f-]{36}",
    "<suffix>": "[a-z0-9]{5}",
    "<workload>": r"appwrapper-[a-z0-9-]+",
    "<scheduler>": r"0/\d+ nodes are available: .+\.",
}


class Explained(Ended):
    """The exit code and output of the command."""

    @property
    def report(self) -> Any:
        """Returns the report of -o json; asserts success without warnings."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)


async def explain(cluster: RunningCluster, namespace: str, *arguments: str) -> Explained:
    """Runs `appwrapper explain ARGUMENTS`, as an admin unless `--as` names another user."""
    where = ("--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace)
    ended = await asyncio.to_thread(appwrapper, "explain", *arguments, *where, COLUMNS="400")
    return Explained(*ended)


async def answer(cluster: RunningCluster, namespace: str, name: str) -> tuple[str, str]:
    """Returns the AppWrapper's situation, and the first sentence."""
    report = (await explain(cluster, namespace, name, "--output", "json")).report
    return report["situation"], report["answer"]


def says(expected: str, actual: str) -> bool:
    """True if the whole text matches, word for word except for the placeholders of _WORDS."""
    parts = re.split(f"({'|'.join(map(re.escape, _WORDS))})", expected)
    pattern = "".join(_WORDS.get(each, re.escape(each)) for each in parts)
    return re.fullmatch(pattern, actual) is not None


def as_expected(expected: tuple[str, ...], actual: list[str]) -> list[str]:
    """Returns `actual`, with the expected text wherever both agree: to compare with `expected`."""
    padded = [*expected, *[""] * len(actual)]
    return [want if says(want, text) else text for want, text in zip(padded, actual, strict=False)]
