"""What a queue and a Workload say, in Kueue's v1beta1 as in v1beta2."""

from typing import Any

import pytest

from shared.api.names import ANNOTATION_DEACTIVATED
from shared.waits.queueing import (
    cluster_queue,
    local_queue,
    queue_trouble,
    waiting_workload,
    with_names,
)


def queue(name: str, *, active: Any = None, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Active", **active}] if active else []
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}}


INACTIVE = {"status": "False", "reason": "FlavorNotFound", "message": "no flavor f."}
GOOD = local_queue(queue("q", clusterQueue="c", active={"status": "True"}))
CLUSTER = cluster_queue(queue("c", stopPolicy="None"))


@pytest.mark.parametrize(
    ("local", "cluster", "text", "missing", "by_admin"),
    [
        pytest.param(
            None,
            None,
            "LocalQueue q does not exist in namespace team. Create it, or set the label"
            " kueue.x-k8s.io/queue-name to another queue (kubectl get localqueues)",
            ("LocalQueue", "q"),
            True,
            id="no LocalQueue",
        ),
        pytest.param(
            GOOD,
            None,
            "ClusterQueue c of LocalQueue q does not exist. An admin must create it",
            ("ClusterQueue", "c"),
            True,
            id="no ClusterQueue",
        ),
        pytest.param(
            local_queue(queue("q", clusterQueue="c", stopPolicy="HoldAndDrain")),
            CLUSTER,
            "an admin stopped LocalQueue q (stopPolicy: HoldAndDrain). Kueue admits from it again"
            " when stopPolicy is None",
            None,
            True,
            id="LocalQueue stopped",
        ),
        pytest.param(
            GOOD,
            cluster_queue(queue("c", stopPolicy="Hold", active=INACTIVE)),
            "an admin stopped ClusterQueue c (stopPolicy: Hold). Kueue admits from it again when"
            " stopPolicy is None",
            None,
            True,
            id="ClusterQueue stopped",
        ),
        pytest.param(
            local_queue(queue("q", clusterQueue="c", active=INACTIVE)),
            cluster_queue(queue("c", active=INACTIVE)),
            "ClusterQueue c is inactive (FlavorNotFound): no flavor f",
            None,
            False,
            id="inactive",
        ),
    ],
)
def test_why_a_queue_admits_nothing(
    local: Any, cluster: Any, text: str, missing: Any, by_admin: bool
) -> None:
    found = queue_trouble("team", "q", local, cluster)
    assert found is not None
    assert (found.text, found.missing, found.by_admin) == (text, missing, by_admin)


def test_a_queue_that_works() -> None:
    assert queue_trouble("team", "q", GOOD, CLUSTER) is None


OWNER = {"kind": "AppWrapper", "name": "train", "uid": "u1", "controller": True}
WAITS = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota. "}
HAS = {"type": "QuotaReserved", "status": "True"}
GONE = {
    "type": "Evicted",
    "status": "True",
    "reason": "Preempted",
    "message": "Preempted to accommodate a workload (UID: w2, JobUID: u2) due to prioritization",
}

LIMITED = {
    "type": "Evicted",
    "status": "True",
    "reason": "DeactivatedDueToRequeuingLimitExceeded",
    "message": "The workload exceeded the maximum number of re-queuing retries",
}


def workload(*conditions: Any, owner: Any = OWNER, active: bool = True, **status: Any) -> Any:
    metadata = {
        "namespace": "team",
        "name": "w",
        "uid": "w1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [owner],
    }
    return {
        "metadata": metadata,
        "spec": {"active": active},
        "status": {"conditions": list(conditions), **status},
    }


BY_CLIENT = {"type": "Evicted", "status": "True", "reason": "Deactivated", "message": "so"}


def held(item: Any, mark: str) -> Any:
    item["metadata"]["annotations"] = {ANNOTATION_DEACTIVATED: mark}
    return item


@pytest.mark.parametrize(
    ("item", "pending", "evicted"),
    [
        pytest.param(workload(), "", "", id="just made"),
        pytest.param(workload(WAITS), "no quota", "", id="waits"),
        pytest.param(workload(HAS, {"type": "Admitted", "status": "True"}), "", "", id="admitted"),
        pytest.param(
            workload(GONE, WAITS), "no quota", f"Preempted: {GONE['message']}", id="preempted"
        ),
        pytest.param(
            workload(WAITS, requeueState={"requeueAt": "2026-01-01T00:05:00Z"}),
            "no quota. Kueue queues it again at 2026-01-01T00:05:00Z",
            "",
            id="backs off",
        ),
        pytest.param(
            workload(WAITS, active=False),
            "its Workload w is out of the queue, because its spec.active is false. Kueue queues it"
            " again once that is true",
            "",
            id="deactivated",
        ),
        pytest.param(held(workload(BY_CLIENT, WAITS, active=False), "true"), "", "", id="held"),
        pytest.param(
            held(workload(BY_CLIENT, WAITS), "false"), "no quota", "", id="queued after a hold"
        ),
        pytest.param(
            held(workload(GONE, WAITS), "false"),
            "no quota",
            f"Preempted: {GONE['message']}",
            id="preempted after a hold",
        ),
        pytest.param(
            workload(LIMITED, active=True),
            "Kueue took its Workload w out of the queue for good. An admin can delete the Workload:"
            " Kueue then makes a new one, and queues it",
            f"{LIMITED['reason']}: {LIMITED['message']}",
            id="deactivated by a limit, and activated again in vain",
        ),
        pytest.param(
            workload({"type": "Finished", "status": "True", "reason": "Failed"}),
            "its Workload w is finished (Failed). Delete the AppWrapper and create it again",
            "",
            id="finished",
        ),
        pytest.param(
            workload({"type": "Finished", "status": "True", "reason": "No", "message": "why."}),
            "its Workload w is finished (No: why). Delete the AppWrapper and create it again",
            "",
            id="finished, and why",
        ),
        pytest.param(
            workload(
                HAS,
                {"type": "Admitted", "status": "False", "reason": "NoChecks", "message": "waits"},
                admissionChecks=[{"name": "budget", "state": "Pending", "message": "asks Ada"}],
            ),
            "its quota is reserved. Admission checks that are not ready: budget (Pending)."
            " budget: asks Ada",
            "",
            id="admission checks",
        ),
        pytest.param(
            workload(GONE, WAITS, owner=OWNER | {"kind": "Job"}), "", "", id="of another Kind"
        ),
    ],
)
def test_why_a_workload_waits(item: Any, pending: str, evicted: str) -> None:
    found = waiting_workload(item)
    assert (found.pending, found.evicted) == (pending, evicted)
    assert (found.namespace, found.name, found.uid) == ("team", "w", "w1")
    assert (found.owner_uid, found.owner_name, found.created) == (
        "u1",
        "train",
        "2026-01-01T00:00:00Z",
    )


def test_foreign_messages_are_cut() -> None:
    long = WAITS | {"message": "ü\n" * 9000}
    assert len(waiting_workload(workload(long)).pending) == 601
    colour = WAITS | {"message": "no \x1b[31mquota\x00\r\n here"}
    assert waiting_workload(workload(colour)).pending == "no ?[31mquota? here"


@pytest.mark.parametrize(
    ("known", "named"),
    [("Job urgent of namespace b", "Job urgent of namespace b"), ("", "another workload")],
)
def test_a_preemptor_has_a_name(known: str, named: str) -> None:
    asked: list[tuple[str, str]] = []

    def name_of(*uids: str) -> str:
        asked.append((uids[0], uids[1]))
        return known

    assert with_names(GONE["message"], name_of) == (
        f"Preempted to accommodate {named} due to prioritization"
    )
    assert asked == [("w2", "u2")]


def test_a_preemptor_may_be_known_by_its_workload_alone() -> None:
    message = "Evicted to accommodate a workload (UID: w2) due to migration"
    named = with_names(message, lambda *uids: "Job urgent of namespace b" * (uids == ("w2", "")))
    assert named == "Evicted to accommodate Job urgent of namespace b due to migration"
