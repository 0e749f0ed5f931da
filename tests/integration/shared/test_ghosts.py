"""Who deletes pods again and again, or copies labels: as a researcher may, or past the webhook."""

from contextlib import suppress
from typing import Any

from shared.api.objects import PODS, JsonObject
from shared.kube.client import NotFound, WatchEventType
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, slow_to_go
from tests.support.cluster.resources import JOBS, PYTORCH_JOBS
from tests.support.patience import comes_to

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
ENDED = ("Succeeded", "Failed")
PATIENT = dict.fromkeys(
    ("admissionGracePeriodDuration", "warmupGracePeriodDuration", "failureGracePeriodDuration"),
    "1h",
)
IMPATIENT = PATIENT | {"failureGracePeriodDuration": "0s", "retryLimit": "0"}


def most_at_once(life: Life) -> int:
    """The largest number of its pods that had not ended, at any moment."""
    under_way: set[str] = set()
    most = 0
    for event in life.pod_events:
        pod = event.object
        gone = event.type is WatchEventType.DELETED or pod["status"].get("phase") in ENDED
        (under_way.discard if gone else under_way.add)(pod["metadata"]["uid"])
        most = max(most, len(under_way))
    return most


async def test_a_job_whose_pods_are_deleted_again_and_again_never_has_more(lives: Lives) -> None:
    """Each of them goes on for two seconds, and only then another takes its place."""
    researcher = member_of(lives.cluster, NAMESPACE)
    body = slow_to_go(job("haunted", 1, hang="running", ignore_deletion_for="2s"))
    body["spec"]["backoffLimit"] = 1000
    life = await lives.begin(appwrapper("haunted", body, annotations=PATIENT))
    await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    [made] = await listed(
        lives.client, JOBS, NAMESPACE, "workload.codeflare.dev/appwrapper=haunted"
    )
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    for _ in range(2):
        [before] = await running(lives, life)
        await researcher("delete", "pod", before, "-n", NAMESPACE, "--wait=false")

        async def replaced(before: str = before) -> bool:
            return await running(lives, life) not in ([], [before])

        await comes_to(replaced, True)
    assert most_at_once(life) == 1
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]


async def running(lives: Lives, life: Life) -> list[str]:
    uid = life.events[0].object["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running"]


def claiming(name: str, of: JsonObject, **simulation: Any) -> JsonObject:
    """A PyTorchJob whose pods carry every label of that AppWrapper's."""
    prefix = "workload.codeflare.dev/"
    labels = {
        f"{prefix}appwrapper": of["metadata"]["name"],
        f"{prefix}uid": of["metadata"]["uid"],
        f"{prefix}attempt": "1",
        f"{prefix}component": "0",
    }
    template = pod_template(labels, container="pytorch", **simulation)
    body = pytorch_job(name, "Never", Master=template)
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "default-queue"}
    return body


async def test_pods_of_another_owners_job_with_copied_labels_fail_no_appwrapper(
    lives: Lives,
) -> None:
    """Such a job is refused to users; an admin may make one. There is neither grace nor a retry."""
    life = await lives.begin(
        appwrapper("claimed", job("claimed", 1, hang="running"), annotations=IMPATIENT)
    )
    ready = await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    [ours] = await running(lives, life)
    failing = claiming("claims", ready, run_for="100ms", exit_code="1")
    await lives.client.create(PYTORCH_JOBS, NAMESPACE, failing)
    try:
        await comes_to(lambda: failed(lives), ["claims-master-0"])
        await lives.patch_pod(ours, {"phase": "Succeeded"})
        await life.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
        # What only copied our labels is not ours to delete.
        theirs = await lives.client.get(PODS, NAMESPACE, "claims-master-0")
        assert "deletionTimestamp" not in theirs["metadata"]
    finally:
        with suppress(NotFound):
            await lives.delete(PYTORCH_JOBS, "claims")
        await comes_to(lambda: failed(lives), [])


async def failed(lives: Lives) -> list[str]:
    selector = "workload.codeflare.dev/appwrapper=claimed"
    pods = await listed(lives.client, PODS, NAMESPACE, selector)
    return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Failed"]
