"""What is remembered of a pod, and which of its changes matter."""

import pytest

from controller.facts.container_ends import ContainerEnd
from controller.facts.pods import has_failed, is_only_placed, project_pod, touched
from shared.api.objects import JsonObject
from tests.support.builders.remembered_pods import pod

LATER = "2026-01-01T10:00:05Z"
LABELS = {
    "workload.codeflare.dev/appwrapper": "train",
    "workload.codeflare.dev/uid": "u1",
    "workload.codeflare.dev/attempt": "3",
    "workload.codeflare.dev/component": "2",
    "training.kubeflow.org/replica-index": "1",
    "training.kubeflow.org/replica-type": "worker",
}


OF_A_JOB = {"batch.kubernetes.io/job-completion-index": "3"}
OF_A_STATEFUL_SET = {"apps.kubernetes.io/pod-index": "0"}
OF_A_PYTORCH_JOB = {
    "training.kubeflow.org/replica-index": "1",
    "training.kubeflow.org/replica-type": "w",
}


@pytest.mark.parametrize(
    ("owner", "index"),
    [("Job", "/3"), ("StatefulSet", "/0"), ("PyTorchJob", "w/1"), ("RayCluster", ""), ("", "")],
)
def test_its_index_is_what_its_owners_kind_gives(owner: str, index: str) -> None:
    """Other labels may come from a template, the same for all pods of their owner."""
    labels = OF_A_JOB | OF_A_STATEFUL_SET | OF_A_PYTORCH_JOB
    metadata: JsonObject = {"namespace": "n", "name": "p", "uid": "1", "labels": labels}
    if owner:
        reference = {"uid": "o", "kind": owner, "name": "train", "controller": True}
        metadata["ownerReferences"] = [reference]
    assert project_pod({"metadata": metadata}).index == index


def test_projection_of_a_pod() -> None:
    item = {
        "metadata": {
            **{"namespace": "team1", "name": "train-worker-1", "uid": "p1"},
            "resourceVersion": "9",
            "creationTimestamp": LATER,
            "deletionTimestamp": LATER,
            "deletionGracePeriodSeconds": 30,
            "labels": LABELS,
            "ownerReferences": [
                {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train"}
                | {"uid": "job", "controller": True}
            ],
        },
        "spec": {
            "nodeName": "n1",
            "priority": 1000,
            "containers": [
                {"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "500m"}}},
                {"resources": {"claims": [{"name": "nic"}], "requests": {"memory": "0"}}},
                {},
            ],
            "initContainers": [{"resources": {"requests": {"nvidia.com/roce_gdr": "1"}}}],
        },
        "status": {
            "phase": "Failed",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "?"},
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": LATER},
            ],
            "containerStatuses": [
                {"state": {"terminated": {"exitCode": 42}}},
                {"state": {"terminated": {"exitCode": 0}}},
                {"state": {"running": {}}},
            ],
        },
    }
    assert project_pod(item) == pod(
        "train-worker-1",
        "Failed",
        uid="p1",
        attempt="3",
        component=2,
        deleting=True,
        deletion_deadline="2026-01-01T10:00:05Z",
        deletion_requested_at="2026-01-01T09:59:35Z",
        created=LATER,
        failed_at=LATER,
        owner_kind="PyTorchJob",
        owner_name="train",
        index="worker/1",
        node="n1",
        bound=LATER,
        priority=1000,
        resources=("cpu", "nvidia.com/gpu", "nvidia.com/roce_gdr"),
        exit_codes=(42,),
        ends=(ContainerEnd(container="", exit_code=42),),
    )


@pytest.mark.parametrize(
    "labels",
    [
        {"component": "1"},
        {"component": "-1", "uid": "u1"},
        {"component": "one", "uid": "u1"},
        {"component": "9" * 63, "uid": "u1"},
    ],
    ids=["without a UID", "negative", "no number", "absurd"],
)
def test_a_malformed_component_label_is_ignored(labels: dict[str, str]) -> None:
    metadata = {"namespace": "team1", "name": "a", "uid": "p1", "resourceVersion": "9"}
    ours = {f"workload.codeflare.dev/{key}": value for key, value in labels.items()}
    assert project_pod({"metadata": {**metadata, "labels": ours}}).component is None


def test_a_pod_that_was_only_placed_wakes_no_appwrapper() -> None:
    waiting = pod("a", "Pending")
    placed = pod("a", "Pending", node="n1", bound=LATER)
    assert is_only_placed(waiting, placed)
    assert is_only_placed(pod("a", "Pending", node="n1"), placed)
    assert not is_only_placed(waiting, pod("a", "Running", node="n1", bound=LATER))
    assert not is_only_placed(placed, pod("a", "Running", node="n1", bound=LATER))
    assert not is_only_placed(None, placed)
    assert not is_only_placed(placed, None)


def test_whom_a_change_of_a_pod_matters_to() -> None:
    old, new = pod("a", "Pending"), pod("a", "Running")
    train, other = ("team1", "train"), ("team1", "other")
    assert touched(None, new) == touched(old, new) == touched(old, None) == {train}
    assert touched(old, pod("a", "Pending", node="n1")) == set()
    assert touched(old, pod("a", "Pending", appwrapper="other")) == {train, other}


def test_a_pod_without_status_is_pending() -> None:
    item = {"metadata": {"namespace": "team1", "name": "a", "uid": "p1", "resourceVersion": "9"}}
    assert project_pod(item).phase == "Pending"


def bare(spec: JsonObject, status: JsonObject) -> JsonObject:
    metadata = {"namespace": "team1", "name": "a", "uid": "p1", "resourceVersion": "9"}
    return {"metadata": metadata, "spec": spec, "status": status}


def test_a_pod_that_is_not_bound_yet() -> None:
    waiting = {"type": "PodScheduled", "status": "False", "lastTransitionTime": LATER}
    assert project_pod(bare({}, {"conditions": [waiting]})).bound == ""


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Pending"])
def test_exit_codes_are_those_of_failed_pods_alone(phase: str) -> None:
    """A container that is started again in place is no change of the pod."""
    ended = [{"name": "main", "state": {"terminated": {"exitCode": 42}}}]
    assert project_pod(bare({}, {"phase": phase, "containerStatuses": ended})).exit_codes == ()


@pytest.mark.parametrize(
    ("phase", "loop"), [("Running", ""), ("Pending", None), ("Failed", None), ("Succeeded", None)]
)
def test_crash_loops_are_looked_for_in_running_pods(phase: str, loop: str | None) -> None:
    """A pod in another phase does not count as running anyhow."""
    backing_off = {"restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    found = project_pod(bare({}, {"phase": phase, "containerStatuses": [backing_off]}))
    assert found.crash_loop == loop


def test_one_restart_in_place_is_no_change_of_the_pod() -> None:
    end = {"startedAt": LATER, "finishedAt": LATER, "exitCode": 1}
    looks = [
        {"restartCount": 0, "state": {"running": {"startedAt": LATER}}},
        {"restartCount": 0, "state": {"terminated": end}},
        {"restartCount": 0, "state": {"waiting": {}}, "lastState": {"terminated": end}},
        {"restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": end}},
    ]
    pods = [project_pod(bare({}, {"phase": "Running", "containerStatuses": [x]})) for x in looks]
    assert pods == [pods[0]] * 4


def test_equal_values_of_pods_are_stored_once() -> None:
    def of_a_gang(number: int) -> JsonObject:
        amounts = {"cpu": "1", "nvidia.com/gpu": "8"}
        item = bare({"nodeName": "".join(["n", "1"])}, {})
        item["metadata"]["name"] = f"p{number}"
        item["metadata"]["creationTimestamp"] = "".join(["2026-01-01", "T10:00:00Z"])
        item["spec"]["containers"] = [{"resources": {"limits": amounts}}]
        return item

    one, other = project_pod(of_a_gang(1)), project_pod(of_a_gang(2))
    for field in ("namespace", "node", "created", "resources", "phase"):
        assert getattr(one, field) is getattr(other, field)


@pytest.mark.parametrize(
    ("grace", "deletion_deadline"),
    [
        (30, "2026-01-01T12:00:30Z"),
        (0, "2026-01-01T12:00:00Z"),
        (86_400, "2026-01-02T12:00:00Z"),
        # 2^63 seconds of nanoseconds: an even number of turns, and the API server adds nothing.
        (2**63 - 1, "2026-01-01T11:59:59Z"),
    ],
)
def test_any_grace_period_leads_back_to_the_time_of_the_deletion(
    grace: int, deletion_deadline: str
) -> None:
    metadata = {
        "namespace": "team1",
        "name": "a",
        "uid": "a",
        "deletionTimestamp": deletion_deadline,
        "deletionGracePeriodSeconds": grace,
    }
    assert project_pod({"metadata": metadata}).deletion_requested_at == "2026-01-01T12:00:00Z"


def test_a_pod_has_failed_in_the_change_that_first_shows_it() -> None:
    running, failed = pod("a", "Running"), pod("a", "Failed")
    assert [has_failed(*each) for each in ((running, failed), (None, failed))] == [True, True]
    others = ((failed, failed), (failed, None), (None, running), (running, pod("a", "Succeeded")))
    assert not any(has_failed(*each) for each in others)
