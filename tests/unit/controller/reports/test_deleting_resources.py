"""What people read of a deletion that does not come to its end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.reports.deleting_resources import (
    LONGEST_TEXT,
    MOST_TEXTS,
    LeftComponent,
    LeftPod,
    blockers,
    forced_off,
    owned_name,
    project_left_pod,
    suspended_jobs,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SILENT = {"n7": "does not answer since 2026-01-01T11:00:00Z"}


def component(**fields: Any) -> LeftComponent:
    return LeftComponent(**{"name": "train", "kind": "Job", "deleting": True, **fields})


def pod(name: str = "train-0", **fields: Any) -> LeftPod:
    return LeftPod(**{"name": name, "node": "n1", "deleting": True, **fields})


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ({"finalizers": ("a.b/c",)}, ["Job train has the finalizer a.b/c"]),
        ({"finalizers": ("a.b/c", "d")}, ["Job train has the finalizers a.b/c, d"]),
        ({"waits_for": ("Pod b", "Pod a")}, ["Job train waits for Pod a, Pod b"]),
        (
            {"waits_for": tuple(f"Pod {i}" for i in range(9)), "unproved": ("x",)},
            ["Job train waits for Pod 0, Pod 1, Pod 2 and 6 more"],
        ),
        (
            {"unproved": ("jobs cannot be listed: 403", "PodGroup: its CRD is changing")},
            [
                "Job train may wait for objects that it owns: jobs cannot be listed: 403;"
                " PodGroup: its CRD is changing"
            ],
        ),
        ({}, ["Job train waits for the garbage collector"]),
        ({"pods_left": True}, []),
        ({"deleting": False}, ["Job train is not being deleted yet"]),
        ({"deleting": False, "refused": "no"}, ["Job train may not be deleted: no"]),
        (
            {"obstacle": "CustomResourceDefinition jobs.x exists"},
            [
                "Job train may exist although its Kind is not served:"
                " CustomResourceDefinition jobs.x exists"
            ],
        ),
        (
            {"finalizers": ("a",), "waits_for": ("Pod a",)},
            ["Job train has the finalizer a", "Job train waits for Pod a"],
        ),
    ],
)
def test_a_component_that_stays(left: Any, expected: list[str]) -> None:
    assert blockers([component(**left)], [], {}, 0) == tuple(expected)


SUSPENDED = {"manager": "kueue", "fieldsV1": {"f:spec": {"f:suspend": {}}}}
CREATED = {"manager": "kuberay", "fieldsV1": {"f:spec": {"f:template": {}}}}


def job(*managers: Any, suspend: bool = True, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": "ray-redis-cleanup", "managedFields": [CREATED, *managers], **metadata}
    return {"metadata": metadata, "spec": {"suspend": suspend}}


@pytest.mark.parametrize(
    ("kind", "item", "is_suspended"),
    [
        ("Job", job(SUSPENDED), True),
        ("Job", job(SUSPENDED, suspend=False), False),
        ("Job", job(SUSPENDED | {"manager": "kubectl"}), False),
        ("Job", job(), False),
        ("Job", job(SUSPENDED, deletionTimestamp="now"), False),
        ("Job", {"metadata": {"name": "ray-redis-cleanup"}}, False),
        ("Pod", job(SUSPENDED), False),
    ],
)
def test_a_job_that_kueue_suspended_is_reported_and_found_again(
    kind: str, item: Any, is_suspended: bool
) -> None:
    name = f"{kind} ray-redis-cleanup"
    note = " (suspended by Kueue: see appwrapper explain)" if is_suspended else ""
    assert owned_name(kind, item) == f"{name}{note}"
    (text,) = blockers([component(waits_for=(owned_name(kind, item), "Service a"))], [], {}, 0)
    assert text == f"Job train waits for {name}{note}, Service a"
    assert suspended_jobs(f"{text}; {text}") == (("ray-redis-cleanup",) if is_suspended else ())


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([pod("a"), pod("b", ended=True)], ["2 of 50 pods are within their grace period"]),
        ([pod("a", deleting=False)], ["Pod a is not being deleted yet"]),
        (
            [pod("b", deleting=False), pod("a", deleting=False)],
            ["Pods a, b are not being deleted yet"],
        ),
        (
            [pod("a", due=True)],
            [
                "Pod a is still terminating although its grace period is over: its node has not "
                "stopped it"
            ],
        ),
        ([pod("a", ended=True, finalizers=("x",))], ["Pod a has the finalizer x"]),
        (
            [pod(name, due=True, finalizers=("x", "y")) for name in "dcba"],
            ["Pods a, b, c and 1 more have the finalizers x, y"],
        ),
        (
            [pod("a", due=True, node="n7", finalizers=("x",)), pod("b", node="n7")],
            [
                "Pod a on node n7, which does not answer since 2026-01-01T11:00:00Z",
                "1 of 50 pods are within their grace period",
            ],
        ),
        ([pod("a", refused="no", due=True)], ["Pod a may not be deleted: no"]),
    ],
)
def test_pods_that_stay(pods: list[LeftPod], expected: list[str]) -> None:
    assert blockers([], pods, SILENT, 50) == tuple(expected)


def test_the_order_of_what_was_found_changes_nothing() -> None:
    pods = [pod("a", due=True), pod("b", deleting=False), pod("c", due=True, node="n7")]
    assert blockers([], pods, SILENT, 3) == blockers([], pods[::-1], SILENT, 3)


def test_neither_many_nor_long_texts() -> None:
    many = [component(name=f"j{i}") for i in range(MOST_TEXTS + 5)]
    texts = blockers(many, [], {}, 0)
    assert len(texts) == MOST_TEXTS
    assert texts[-1] == "and 6 more"
    assert len(blockers(many[:MOST_TEXTS], [], {}, 0)) == MOST_TEXTS
    (long,) = blockers([component(refused="x" * 10_000, deleting=False)], [], {}, 0)
    assert len(long.encode()) == LONGEST_TEXT


def test_who_is_removed_without_word_from_the_node() -> None:
    pods = [pod("a", node="n7"), pod("b", node="n7", deleting=False), pod("c"), pod("d", node="")]
    assert forced_off(pods, SILENT | {"n8": "no longer exists"}) == (
        "Pods a, b on node n7, which does not answer since 2026-01-01T11:00:00Z",
    )
    everywhere = {f"n{i}": "no longer exists" for i in range(20)}
    texts = forced_off([pod(node=f"n{i}") for i in range(20)], everywhere)
    assert texts[-1] == "and pods on 12 more nodes"
    assert len(texts) == MOST_TEXTS + 1


@pytest.mark.parametrize(("seconds", "due"), [(-1, False), (0, True), (1, True)])
def test_a_pod_is_due_from_the_end_of_its_grace_period_on(seconds: int, due: bool) -> None:
    item = {
        "metadata": {
            "name": "a",
            "deletionTimestamp": "2026-01-01T12:00:00Z",
            "finalizers": ["x", "foregroundDeletion", "orphan"],
        },
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Failed"},
    }
    left = project_left_pod(item, "no", NOW + timedelta(seconds=seconds))
    assert left == pod("a", due=due, ended=True, finalizers=("x",), refused="no")
