"""What is said about a workload; both sides of each limit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.checks.findings import FindingSeverity
from cli.checks.nodes import node_of
from cli.checks.workload_rules import Surroundings, workload_findings
from cli.checks.workloads import with_named_preemptors, workload_facts
from shared.api.names import ANNOTATION_DEACTIVATED
from shared.config.fault_tolerance import Autopilot
from tests.support.builders.queues import GPU, gpu_node, workload

ADMITTED_AT = datetime(2026, 1, 2, 3, tzinfo=UTC)
AROUND = Surroundings(
    queues=frozenset({"default-queue"}),
    default_priority=5,
    nodes=(node_of(gpu_node("n"), Autopilot().resource_taints).allocatable,),
    scheduler="",
    warmup=timedelta(minutes=5),
    now=ADMITTED_AT,
)
PYTORCH_JOB = {"kind": "PyTorchJob", "name": "train", "uid": "u", "controller": True}


def findings_of(around: Surroundings = AROUND, **changes: Any) -> list[str]:
    found = workload_findings(workload_facts(workload("train", **changes)), around)
    assert {each.about for each in found} <= {
        "workload team1/AppWrapper train",
        "workload team1/PyTorchJob train",
    }
    return [f"{each.message}. {each.advice}" if each.advice else each.message for each in found]


def test_nothing_about_one_that_is_right() -> None:
    assert findings_of() == []


def test_a_queue_that_is_missing() -> None:
    assert findings_of(queueName="") == [
        "it names no LocalQueue, so Kueue never admits it."
        " Set the label kueue.x-k8s.io/queue-name to one of: default-queue"
    ]
    assert findings_of(queueName="other") == [
        "there is no LocalQueue other in its namespace, so Kueue never admits it. Create it"
        " again with the label kueue.x-k8s.io/queue-name of one of: default-queue"
    ]


def test_a_priority_above_the_default_is_a_note() -> None:
    (found,) = workload_findings(workload_facts(workload("train", priority=6)), AROUND)
    assert found.severity is FindingSeverity.NOTE
    assert findings_of(priority=5) == findings_of(priority=None) == []
    assert findings_of(replace(AROUND, default_priority=None), priority=6) == []


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (5, []),
        (
            6,
            [
                "Kueue admitted it, and its pods have not been ready for 6 min."
                " See why: appwrapper explain -n team1 train"
            ],
        ),
    ],
)
def test_pods_that_are_not_ready_after_the_warm_up(minutes: int, expected: list[str]) -> None:
    around = replace(AROUND, now=ADMITTED_AT + timedelta(minutes=minutes))
    assert findings_of(around, conditions={"Admitted": "True", "PodsReady": "False"}) == expected
    assert findings_of(around, conditions={"PodsReady": "False"}) == []
    assert findings_of(around, conditions={"Admitted": "True", "PodsReady": "True"}) == []


def test_an_eviction_until_it_has_finished() -> None:
    evicted = {"status": "True", "reason": "PodsReadyTimeout", "message": "too slow"}
    assert findings_of(conditions={"Evicted": evicted}) == [
        "Kueue evicted it (PodsReadyTimeout: too slow)"
    ]
    assert findings_of(conditions={"Evicted": evicted, "Finished": "True"}) == []
    assert findings_of(conditions={"Evicted": "False"}) == []


def test_a_preemption_is_a_note_with_the_name_of_the_other_one() -> None:
    """Queues preempt every day: that is no warning."""
    text = "Preempted to accommodate a workload (UID: w2, JobUID: u2) due to reclamation"
    evicted = {"status": "True", "reason": "Preempted", "message": text}
    victim = workload_facts(workload("train", conditions={"Evicted": evicted}))
    owner = {"kind": "AppWrapper", "name": "urgent", "uid": "u2", "controller": True}
    other = workload_facts(workload("urgent", "team2", owner=owner))
    for known, name in (
        ((victim, other), "AppWrapper urgent of namespace team2"),
        ((victim,), "another workload"),
    ):
        (found,) = workload_findings(with_named_preemptors(known)[0], AROUND)
        assert found.severity is FindingSeverity.NOTE
        assert found.message == (
            f"Kueue evicted it (Preempted: Preempted to accommodate {name} due to reclamation)"
        )


def test_one_that_is_deactivated() -> None:
    assert findings_of(active=False) == [
        "it is deactivated (spec.active: false), so Kueue does not admit it. An admin queues it"
        " again: kubectl patch workload -n team1 appwrapper-train --type merge --patch"
        ' \'{"spec":{"active":true}}\''
    ]


def test_one_that_its_user_holds() -> None:
    evicted = {"status": "True", "reason": "Deactivated", "message": "deactivated"}
    item = workload("train", active=False, conditions={"Evicted": evicted})
    item["metadata"]["annotations"] = {ANNOTATION_DEACTIVATED: "true"}
    assert [*workload_findings(workload_facts(item), AROUND)] == []


def test_one_that_a_limit_of_kueue_deactivated() -> None:
    reason = "DeactivatedDueToRequeuingLimitExceeded"
    evicted = {"status": "True", "reason": reason, "message": "too often"}
    found = findings_of(active=False, conditions={"Evicted": evicted})
    assert found == [
        "Kueue took it out of the queue for good. Kueue makes a new Workload, and queues it,"
        " after: kubectl delete workload -n team1 appwrapper-train --wait=false",
        f"Kueue evicted it ({reason}: too often)",
    ]
    assert findings_of(conditions={"Evicted": evicted}) == found, "activated again in vain"


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({GPU: "8", "cpu": "80", "memory": "1100Gi"}, []),
        (
            {GPU: "9"},
            [
                f"pod set main: one of its pods asks for 9 {GPU}, and the largest node has 8."
                " Ask for less"
            ],
        ),
        (
            {"memory": "1200Gi", "cpu": "1k"},
            [
                "pod set main: one of its pods asks for 1200Gi memory, and the largest node has"
                " 1100Gi. Ask for less"
            ],
        ),
    ],
)
def test_a_pod_that_no_node_can_hold(requests: dict[str, str], expected: list[str]) -> None:
    assert findings_of(requests=requests) == expected


def test_amounts_that_no_single_node_has_together() -> None:
    taints = Autopilot().resource_taints
    many = node_of(gpu_node("many", allocatable={"cpu": "10"}), taints).allocatable
    few = node_of(gpu_node("few", 1), taints).allocatable
    assert findings_of(replace(AROUND, nodes=(many, few)), requests={GPU: "8", "cpu": "80"}) == [
        "pod set main: no node has all that one of its pods asks for. Ask for less"
    ]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({GPU: "1", "cpu": "10", "memory": "137.5Gi"}, []),
        (
            {GPU: "1", "cpu": "20"},
            [
                f"pod set main asks for 20 cpu for each {GPU}, and nodes have 10: on a node full of"
                " such pods 4 of 8 GPUs lie idle. Ask for at most 10 cpu"
            ],
        ),
        (
            {GPU: "2", "memory": "550Gi"},
            [
                f"pod set main asks for 275Gi memory for each {GPU}, and nodes have 137.5Gi: on a"
                " node full of such pods 4 of 8 GPUs lie idle. Ask for at most 275Gi memory"
            ],
        ),
        ({"cpu": "80"}, []),
        ({GPU: "1", "pods": "1", "ephemeral-storage": "1Ti"}, None),
    ],
)
def test_more_beside_each_gpu_than_nodes_have(
    requests: dict[str, str], expected: list[str] | None
) -> None:
    found = findings_of(requests=requests)
    if expected is None:  # what nodes do not say they have fits nowhere, and that is all
        assert found == [
            "pod set main: one of its pods asks for 1 pods, and no node has any. Ask for less"
        ]
    else:
        assert found == expected


def test_a_network_adapter_for_a_single_pod() -> None:
    wanted = {GPU: "8", "nvidia.com/roce_gdr": "2"}
    assert findings_of(requests=wanted) == [
        "it asks for nvidia.com/roce_gdr and has one pod: that resource connects pods on several"
        " nodes. Leave nvidia.com/roce_gdr out"
    ]
    assert findings_of(requests=wanted, count=2) == []


def test_the_default_scheduler_only_where_another_one_is_configured() -> None:
    gangs = replace(AROUND, scheduler="scheduler-plugins-scheduler")
    assert findings_of(owner=PYTORCH_JOB) == []
    assert findings_of(gangs, owner=PYTORCH_JOB) == [
        "pods of pod set main use GPUs and default-scheduler, which does not start them together as"
        " scheduler-plugins-scheduler does. Wrap it in an AppWrapper, or set schedulerName:"
        " scheduler-plugins-scheduler"
    ]
    assert findings_of(gangs, owner=PYTORCH_JOB, scheduler="scheduler-plugins-scheduler") == []
    # What is wrapped gets it when it is created.
    assert findings_of(gangs) == []
    assert findings_of(gangs, owner=PYTORCH_JOB, requests={"cpu": "1"}) == []


def test_without_nodes_no_shape_is_reported() -> None:
    assert findings_of(replace(AROUND, nodes=()), requests={GPU: "99", "cpu": "9000"}) == []
