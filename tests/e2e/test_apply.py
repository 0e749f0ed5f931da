"""A researcher applies a file: what is added to it, where it runs, and how it ends."""

import copy
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.cluster import LocalCluster
from localcluster.images import Image
from shared.api.objects import NODES, JsonObject
from shared.kube.client import PatchType
from tests.e2e.containers import job
from tests.e2e.research_team import REAL_NODE, RESEARCHER, TEAM, ResearchTeam, ended
from tests.e2e.tagged_image import tagged
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.autopilot import GPU
from tests.support.cluster.admitted_samples import (
    AWAY_FROM_BAD_GPUS,
    DIGEST,
    NAME,
    QUEUE,
    USER,
    USERID,
    as_admitted,
)
from tests.support.cluster.kubectl import Completed
from tests.support.cluster.sample_team import SUCCEEDED
from tests.support.cluster.unchanged import without_bookkeeping
from tests.support.manifests import ROOT, document
from tests.support.patience import KUBECTL_PATIENCE, comes_to

SAMPLE = "samples/wrapped-pod.yaml"
# What the samples name, and nobody can pull here.
BUSYBOX = "quay.io/project-codeflare/busybox:1.36"

ONE_GPU: dict[str, Any] = {GPU: "1"}


@pytest.fixture
async def busybox(node_cluster: LocalCluster, workload: Image, tmp_path: Path) -> None:
    """The node has an image of that name, with the shell that samples call."""
    assert node_cluster.node is not None
    await node_cluster.node.load(tagged(workload.archive, BUSYBOX, tmp_path / "busybox.tar"))


@pytest.fixture
async def gpus(node_cluster: LocalCluster) -> AsyncIterator[None]:
    """The real node offers eight GPUs, as an extended resource that an admin advertises."""

    async def advertise(amount: str | None) -> None:
        patch = {"status": {"capacity": {GPU: amount}, "allocatable": {GPU: amount}}}
        client = node_cluster.client
        await client.patch(NODES, None, REAL_NODE, patch, PatchType.MERGE, subresource="status")

    await advertise("8")
    yield
    await advertise(None)


def without_digests(spec: JsonObject) -> JsonObject:
    """Each component has one, and no other annotation."""
    bare = copy.deepcopy(spec)
    for component in bare["components"]:
        annotations = component.pop("annotations")
        assert list(annotations) == [DIGEST]
        assert re.fullmatch("[0-9a-f]{64}", annotations[DIGEST])
    return bare


@pytest.mark.usefixtures("busybox")
async def test_a_sample_is_completed_runs_in_a_real_container_and_succeeds(
    team: ResearchTeam,
) -> None:
    name = document(ROOT / SAMPLE)["metadata"]["name"]
    life, stored = await team.apply(SAMPLE)

    assert without_digests(stored["spec"]) == as_admitted(document(ROOT / SAMPLE), None)
    assert stored["metadata"]["labels"] == {QUEUE: "default-queue", USER: RESEARCHER, USERID: ""}

    # It runs for five seconds: a live read may be late for that.
    pod = await life.until_pod(has_container, "a container")
    assert pod["spec"]["nodeName"] == REAL_NODE
    assert pod["metadata"]["labels"][NAME] == name
    [container] = pod["spec"]["containers"]
    assert container["image"] == BUSYBOX
    [status] = pod["status"]["containerStatuses"]
    assert status["containerID"].startswith("containerd://")
    # While it runs, the same file once more.
    running = await team.stored(name)
    again = await team.researcher.run("apply", "-n", TEAM, "-f", SAMPLE)
    assert again == Completed(0, applied(name), "")
    after = await team.stored(name)
    assert after["metadata"]["generation"] == running["metadata"]["generation"]
    assert after["spec"] == running["spec"]

    await life.until_phase("Succeeded")
    table = await team.researcher("get", "appwrappers", name, "-n", TEAM)
    assert table.splitlines()[1].split()[:-1] == [name, *SUCCEEDED, "True"]
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    [pod] = await team.pods(name)
    assert ended(pod) == {"exitCode": 0, "reason": "Completed"}
    assert pod["status"]["phase"] == "Succeeded"
    await life.check_the_promise_to_kueue()


@pytest.mark.usefixtures("gpus")
async def test_pods_with_gpus_are_kept_off_bad_nodes(team: ResearchTeam, tmp_path: Path) -> None:
    """The file is a team's own; its container says what it has been given."""
    script = 'echo "attempt $ATTEMPT"; sleep 1'
    body = appwrapper("trains", job("trains", script, **ONE_GPU), queued=False)
    file = tmp_path / "trains.yaml"
    file.write_text(yaml.safe_dump(body))
    life, stored = await team.apply(str(file))

    [component] = stored["spec"]["components"]
    template = component["template"]["spec"]["template"]
    assert template["metadata"]["labels"] == {NAME: "trains"}
    assert template["spec"]["affinity"] == AWAY_FROM_BAD_GPUS
    assert stored["metadata"]["labels"] == {QUEUE: "default-queue", USER: RESEARCHER, USERID: ""}

    done = await life.until_phase("Succeeded")
    assert (phase(done), done["status"]["attempt"]) == ("Succeeded", 1)
    [pod] = await team.pods("trains")
    assert pod["spec"]["nodeName"] == REAL_NODE
    assert pod["spec"]["affinity"] == AWAY_FROM_BAD_GPUS
    # The researcher reads what it printed.
    logs = await team.researcher("logs", "-n", TEAM, pod["metadata"]["name"])
    assert logs == "attempt 1\n"
    # Applied again after its end it stays as it is.
    again = await team.researcher.run("apply", "-n", TEAM, "-f", str(file))
    assert again == Completed(0, applied("trains"), "")
    assert without_bookkeeping(await team.stored("trains")) == without_bookkeeping(done)


async def test_deleting_the_file_leaves_nothing(team: ResearchTeam, tmp_path: Path) -> None:
    """`kubectl delete -f` returns when the AppWrapper is gone, and with it all it had."""
    file = tmp_path / "stays.yaml"
    file.write_text(yaml.safe_dump(appwrapper("stays", job("stays", "exec sleep 1000"))))
    life, _ = await team.apply(str(file))
    await life.until_phase("Running")
    await team.running_pod("stays")
    out = await team.researcher("delete", "-n", TEAM, "-f", str(file), KUBECTL_PATIENCE)
    assert out.startswith('appwrapper.workload.codeflare.dev "stays" deleted'), out
    left = await team.researcher("get", "pods,jobs,appwrappers", "-n", TEAM, "-o", "json")
    names = [each["metadata"]["name"] for each in json.loads(left)["items"]]
    assert [name for name in names if name.startswith("stays")] == []
    await comes_to(lambda: _workloads(team, life.events[0].object["metadata"]["uid"]), [])


def has_container(pod: JsonObject) -> bool:
    """True once the runtime has given its container a name."""
    return any(each.get("containerID") for each in pod["status"].get("containerStatuses", ()))


def applied(name: str) -> str:
    """It cannot know that a file's lists will be found to be equal (docs/admins/updates.md)."""
    return f"appwrapper.workload.codeflare.dev/{name} configured\n"


async def _workloads(team: ResearchTeam, uid: str) -> list[str]:
    """Kueue's companions of the AppWrapper of that UID."""
    listing = json.loads(await team.researcher("get", "workloads", "-n", TEAM, "-o", "json"))
    return [
        each["metadata"]["name"]
        for each in listing["items"]
        if uid in [owner["uid"] for owner in each["metadata"].get("ownerReferences", ())]
    ]
