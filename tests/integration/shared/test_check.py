"""`appwrapper check` on a real cluster: as an admin, and as a team's user.

Of the installation: registrations/test_check_install.py.
"""

import json

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.builders.queues import GPU
from tests.support.cluster.checking import check
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.cluster.removed import removed
from tests.support.patience import comes_to
from tests.support.team import FIRST_NODE, own
from tests.support.team import NAMESPACE as TEAM


def as_member(namespace: str) -> tuple[str, ...]:
    """Somebody with the rights of deploy/team in that namespace."""
    return "--as", "alice", "--as-group", f"{namespace}-edit-group", "-n", namespace


async def test_an_admin_sees_quota_nodes_and_uncounted_pods(
    cluster: RunningCluster,
) -> None:
    name = own("uncounted")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": f"gpu-node-{FIRST_NODE}",
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {GPU: "1"}}}],
        },
    }
    await cluster.client.create(PODS, "default", pod)
    try:
        code, out, err = await check(cluster, "-o", "json")
    finally:
        await removed(cluster.client, PODS, "default", name)
    report = json.loads(out)
    assert (code, err, report["unread"]) == (1, "", [])
    lines = {each["name"]: each["gpuQuota"] for each in report["queues"]}
    assert lines[f"{TEAM}-cluster-queue"] > 0
    gpus = report["gpus"]
    assert gpus["total"] - gpus["unschedulable"] == gpus["schedulable"] > 0
    assert gpus["nominalQuota"] == sum(lines.values())
    (found,) = [each for each in report["findings"] if each["about"] == f"pod default/{name}"]
    assert found["message"].startswith(f"it holds 1 {GPU} on its node (")


async def test_a_team_sees_its_own_part_and_the_names_of_unreadable_ones(
    cluster: RunningCluster, lives: Lives
) -> None:
    runs = await lives.begin(appwrapper("runs", requesting("750m", job("runs", hang="running"))))
    await runs.until_phase("Running")
    waits = await lives.begin(appwrapper("waits", requesting("500m", job("waits"))))
    member = as_member(NAMESPACE)

    async def states() -> tuple[int, str, dict[str, str]]:
        """With a warning until the pods are ready, and until earlier tests' workloads are gone."""
        code, out, err = await check(cluster, "--mine", "-o", "json", *member)
        found = {each["name"]: each["state"] for each in json.loads(out)["workloads"]}
        return code, err, found

    expected = {"AppWrapper runs": "admitted", "AppWrapper waits": "pending"}
    await comes_to(states, (0, "", expected))
    await waits.until_phase("Suspended")

    async def lines() -> list[list[str]]:
        """Kueue counts in the queue's status only after it has decided."""
        _, out, _ = await check(cluster, "--mine", *member)
        found = (line.split() for line in out.splitlines())
        return [words for words in found if words and words[0] in ("default-queue", "cpu")]

    await comes_to(
        lines,
        [
            ["default-queue", f"{NAMESPACE}-cluster-queue", "1", "1"],
            ["cpu", "2", "1.5", "0.5", "0", "0"],
        ],
    )

    code, out, _ = await check(cluster, *member)
    assert code == 2
    refused = [line for line in out.splitlines() if line.startswith("UNKNOWN: ")]
    assert [line.split(": ")[1].split()[0] for line in refused] == [
        "localqueues",
        "workloads",
        "pods",
    ]
    assert f"{NAMESPACE}-cluster-queue" in out
