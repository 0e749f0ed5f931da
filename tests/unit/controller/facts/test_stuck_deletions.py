"""Which objects of a deletion that does not end count, and under which labels."""

from typing import Any

import pytest

from controller.facts.stuck_deletions import stuck_deletions
from controller.reports.deleting_resources import LeftComponent, LeftPod

TRACKING = "batch.kubernetes.io/job-tracking"


def component(kind: str = "Job", **fields: Any) -> LeftComponent:
    return LeftComponent(**{"name": "train", "kind": kind, "deleting": True, **fields})


def pod(**fields: Any) -> LeftPod:
    return LeftPod(**{"name": "train-0", "node": "n1", "deleting": True, **fields})


@pytest.mark.parametrize(
    ("left", "counted"),
    [
        pytest.param(component(finalizers=(TRACKING,)), {(TRACKING, "Job"): 1}, id="known"),
        pytest.param(component(finalizers=("a.b/c",)), {("other", "Job"): 1}, id="of a user"),
        pytest.param(
            component(finalizers=("a.b/c", "a.b/d", TRACKING)),
            {(TRACKING, "Job"): 1, ("other", "Job"): 1},
            id="once for each label",
        ),
        pytest.param(component("Cat", finalizers=("a",)), {("other", "other"): 1}, id="any Kind"),
        pytest.param(component(waits_for=("Pod a",)), {("none", "Job"): 1}, id="owned objects"),
        pytest.param(component(), {("none", "Job"): 1}, id="the garbage collector"),
        pytest.param(component(pods_left=True), {}, id="only its pods keep it"),
        pytest.param(component(deleting=False, refused="no"), {}, id="its delete is refused"),
        pytest.param(component(deleting=False, unreadable="no"), {}, id="it cannot be read"),
        pytest.param(pod(due=True), {("none", "Pod"): 1}, id="its node does not stop it"),
        pytest.param(pod(due=True, finalizers=("x",)), {("other", "Pod"): 1}, id="its finalizer"),
        pytest.param(pod(ended=True, finalizers=(TRACKING,)), {(TRACKING, "Pod"): 1}, id="ended"),
        pytest.param(pod(), {}, id="within its grace period"),
        pytest.param(pod(finalizers=("x",)), {}, id="within it, with a finalizer"),
        pytest.param(pod(deleting=False, due=False), {}, id="not being deleted"),
    ],
)
def test_an_overdue_object_counts_under_its_finalizer_and_kind(
    left: LeftComponent | LeftPod, counted: dict[tuple[str, str], int]
) -> None:
    components = [left] if isinstance(left, LeftComponent) else []
    pods = [left] if isinstance(left, LeftPod) else []
    assert dict(stuck_deletions(components, pods)) == counted


def test_objects_with_the_same_labels_are_one_figure() -> None:
    components = [component(finalizers=("a",)), component(finalizers=("b",))]
    pods = [pod(due=True), pod(due=True), pod()]
    assert stuck_deletions(components, pods) == ((("none", "Pod"), 2), (("other", "Job"), 2))
