"""Runs kubectl as the documentation recommends: from the root of the repository."""

import asyncio
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tests.support.manifests import ROOT

TRIES = 5
RIGHTS_UNKNOWN = re.compile(r"denied the request: .*: no answer within \d+ s")
UNANSWERED = re.compile(
    rf"{RIGHTS_UNKNOWN.pattern}|failed calling webhook .*(deadline exceeded|Client\.Timeout)"
)
"""A request that no webhook could judge in time, so that nothing is stored."""
# What kubectl reports of its own pace, and of APIs that the command does not use: on a busy machine
# Kueue's visibility server is away for a while.
_ASIDES = re.compile(
    r"^[EI]\d{4} .*(couldn't get resource list for|client-side throttling).*\n", re.MULTILINE
)


def without_asides(output: str) -> str:
    """Returns what kubectl writes of the command itself."""
    return _ASIDES.sub("", output)


@dataclass(frozen=True, slots=True)
class Completed:
    """The exit code and output of a finished kubectl."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl against one cluster, under the kubeconfig's identity or as `user` in `groups`."""

    program: Path
    kubeconfig: Path
    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()

    def impersonating(self, user: str, *groups: str) -> Self:
        """Returns the same kubectl as another user, as the API server sees an authenticated one."""
        return replace(self, user=user, groups=(*groups, "system:authenticated"))

    async def run(self, *arguments: str, stdin: str = "") -> Completed:
        """Runs `kubectl ARGUMENTS` to its end, with any exit code.

        On a busy machine the webhook may get no answer in time about a user's rights, and reports
        that; or a webhook gives none within its ten seconds. Then the command is repeated, as its
        user would.
        """
        for _ in range(TRIES):
            completed = await self._run(*arguments, stdin=stdin)
            if completed.code == 0 or not UNANSWERED.search(completed.err):
                break
        return completed

    async def _run(self, *arguments: str, stdin: str) -> Completed:
        named = {"as": self.user, "as-uid": self.uid}
        identity = [f"--{flag}={value}" for flag, value in named.items() if value]
        process = await asyncio.create_subprocess_exec(
            self.program,
            *identity,
            *(f"--as-group={group}" for group in self.groups),
            *arguments,
            cwd=ROOT,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        return Completed(process.returncode or 0, out.decode(), without_asides(err.decode()))

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Returns the output of a kubectl that must succeed."""
        completed = await self.run(*arguments, stdin=stdin)
        assert completed.code == 0, f"kubectl {' '.join(arguments)}: {completed.err}"
        return completed.out
