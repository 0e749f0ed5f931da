"""`appwrapper list` as a member of a team types it, on the real cluster."""

import asyncio
import json
from typing import Any

from localcluster.access.running import RunningCluster
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.command import Ended
from tests.support.command import appwrapper as appwrapper_command
from tests.support.patience import comes_to
from tests.support.team import FLAVOR as IN

MEMBER = ("--as", "alice", "--as-group", f"{NAMESPACE}-edit-group", "-n", NAMESPACE)


async def listed(
    cluster: RunningCluster, *words: str, who: tuple[str, ...] = MEMBER, **environment: str
) -> Ended:
    """`appwrapper list WORDS`."""
    command = ("list", "--kubeconfig", str(cluster.kubeconfig), *who, *words)
    return await asyncio.to_thread(appwrapper_command, *command, **environment)


async def test_a_member_sees_what_runs_what_waits_and_why(
    cluster: RunningCluster, lives: Lives
) -> None:
    runs = await lives.begin(appwrapper("runs", requesting("750m", job("runs", hang="running"))))
    await runs.until_phase("Running")
    await lives.begin(appwrapper("waits", requesting("500m", job("waits"))))

    async def rows() -> list[list[Any]]:
        code, out, err = await listed(cluster, "-o", "json")
        assert (code, err) == (0, "")
        keys = ("name", "status", "queue", "position", "why")
        return [[each.get(key) for key in keys] for each in json.loads(out)]

    why = f"insufficient unused quota for cpu in flavor {IN}, 500m more needed"
    queue = "default-queue"
    expected = [["runs", "Running", queue, None, ""], ["waits", "Suspended", queue, 1, why]]
    await comes_to(rows, expected)

    code, out, err = await listed(cluster, COLUMNS="80")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 3)
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["NAME", "USER", "STATUS", "GPUS", "PRIO", "POS", "AGE", "WHY"]
    assert lines[2].endswith("…")

    assert (await listed(cluster, "-o", "name", "--me")).out == ""  # the test's admin made them
    code, _, err = await listed(cluster, who=("--as", "stranger", "-n", NAMESPACE))
    assert (code, err) == (
        2,
        f"error: you may not list AppWrappers in namespace {NAMESPACE}: name your team's with -n\n",
    )
