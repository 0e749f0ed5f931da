from typing import Any

import pytest

from controller.gather.pod import Pod, is_only_placed, project_pod
from controller.gather.pod_counts import Owners, belongs, count_pods
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import PodCounts, Terminal

CONFIG = FaultTolerance()


def pod(name: str, phase: str = "Running", **changes: Any) -> Pod:
    fields: dict[str, Any] = {
        "namespace": "team1",
        "name": name,
        "uid": f"uid-{name}",
        "appwrapper": "train",
        "appwrapper_uid": "u1",
        "attempt": "1",
        "component": None,
        "phase": phase,
        "deleting": False,
        "created": "2026-01-01T10:00:00Z",
        "owner_uid": "job",
        "owner_kind": "Job",
        "index": "",
        "node": "",
        "exit_codes": (),
    }
    return Pod(**{**fields, **changes})


def owners(expected: int = 2, terminal: Terminal | None = None, *, reports: bool = True) -> Owners:
    found = Owners("u1")
    found.add("job", expected, terminal, reports)
    return found


@pytest.mark.parametrize(
    ("changes", "attempt", "expected"),
    [
        ({}, 1, True),
        ({}, 2, False),
        ({}, None, True),
        ({"appwrapper_uid": "u2"}, None, False),
        ({"appwrapper_uid": "", "attempt": ""}, 1, True),
    ],
)
def test_belongs(changes: dict[str, str], attempt: int | None, expected: bool) -> None:
    assert belongs(pod("a", **changes), "u1", attempt) is expected


def test_each_pod_is_in_one_count() -> None:
    pods = [
        pod("a"),
        pod("b", "Pending"),
        pod("c", "Unknown"),
        pod("d", deleting=True),
        pod("e", "Pending", deleting=True),
        pod("f", "Succeeded"),
        pod("g", "Succeeded", deleting=True),
    ]
    assert count_pods(pods, 7, owners(7), CONFIG) == PodCounts(
        expected=7, pending=2, running=1, deleting=2, succeeded=2
    )


def test_successes_of_components_that_report_none_are_counted_apart() -> None:
    pods = [
        pod("a", "Succeeded"),
        pod("b", "Succeeded", owner_uid="replica-set"),
        pod("c", "Succeeded", owner_uid="u1"),
    ]
    counts = count_pods(pods, 3, owners(1), CONFIG)
    assert (counts.succeeded, counts.loose_succeeded) == (3, 1)


LATER = "2026-01-01T10:00:05Z"


@pytest.mark.parametrize(
    ("others", "found", "failed"),
    [
        pytest.param([], owners(), 1, id="nobody took its place"),
        pytest.param([pod("b")], owners(), 1, id="one of two is there"),
        pytest.param([pod("b"), pod("c", "Pending")], owners(), 0, id="two of two are there"),
        pytest.param([pod("b"), pod("c", deleting=True)], owners(), 1, id="one of them is going"),
        pytest.param([], owners(terminal=Terminal.SUCCEEDED), 0, id="its Job completed"),
        pytest.param(
            [pod("b", "Pending", index="/0", created=LATER)], owners(), 0, id="a newer one"
        ),
        pytest.param(
            [pod("b", index="/1", created=LATER)], owners(), 1, id="a newer one of another index"
        ),
        pytest.param(
            [pod("b", index="/0", created=LATER, owner_uid="other")],
            owners(),
            1,
            id="a newer one of another owner",
        ),
        pytest.param(
            [pod("b", "Failed", index="/0")], owners(), 1, id="of two failures in a second one"
        ),
        pytest.param(
            [pod("b", "Failed", index="/0", created=LATER)], owners(), 1, id="the newer failed too"
        ),
    ],
)
def test_replaced_failures(others: list[Pod], found: Owners, failed: int) -> None:
    pods = [pod("a", "Failed", index="/0"), *others]
    assert count_pods(pods, 2, found, CONFIG).failed == failed


@pytest.mark.parametrize(
    ("config", "terminal"),
    [
        (FaultTolerance(), False),
        (FaultTolerance(terminal_exit_codes=frozenset({42})), True),
        (FaultTolerance(terminal_exit_codes=frozenset({1})), False),
        (FaultTolerance(retryable_exit_codes=frozenset({42})), False),
        (FaultTolerance(retryable_exit_codes=frozenset({1})), True),
    ],
)
def test_exit_codes(config: FaultTolerance, terminal: bool) -> None:
    failed = pod("a", "Failed", exit_codes=(42,))
    assert count_pods([failed], 2, owners(), config).terminal_exit is terminal


def test_what_is_remembered_of_a_pod() -> None:
    item = {
        "metadata": {
            "namespace": "team1",
            "name": "train-worker-1",
            "uid": "p1",
            "resourceVersion": "9",
            "creationTimestamp": LATER,
            "deletionTimestamp": LATER,
            "labels": {
                "workload.codeflare.dev/appwrapper": "train",
                "workload.codeflare.dev/uid": "u1",
                "workload.codeflare.dev/attempt": "3",
                "workload.codeflare.dev/component": "2",
                "training.kubeflow.org/replica-index": "1",
                "training.kubeflow.org/replica-type": "worker",
            },
            "ownerReferences": [
                {"uid": "job", "kind": "PyTorchJob", "name": "train", "controller": True}
            ],
        },
        "spec": {"nodeName": "n1"},
        "status": {
            "phase": "Failed",
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
        created=LATER,
        owner_kind="PyTorchJob",
        index="worker/1",
        node="n1",
        exit_codes=(42,),
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
def test_a_component_label_that_is_not_ours(labels: dict[str, str]) -> None:
    metadata = {"namespace": "team1", "name": "a", "uid": "p1", "resourceVersion": "9"}
    ours = {f"workload.codeflare.dev/{key}": value for key, value in labels.items()}
    assert project_pod({"metadata": {**metadata, "labels": ours}}).component is None


def test_a_pod_that_was_only_placed_wakes_nobody() -> None:
    waiting = pod("a", "Pending")
    placed = pod("a", "Pending", node="n1")
    assert is_only_placed(waiting, placed)
    assert not is_only_placed(waiting, pod("a", "Running", node="n1"))
    assert not is_only_placed(placed, pod("a", "Running", node="n1"))
    assert not is_only_placed(None, placed)
    assert not is_only_placed(placed, None)


def test_a_pod_without_status_is_pending() -> None:
    item = {"metadata": {"namespace": "team1", "name": "a", "uid": "p1", "resourceVersion": "9"}}
    assert project_pod(item).phase == "Pending"
