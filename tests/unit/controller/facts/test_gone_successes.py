"""Pods that ended well and are gone, and what a component says of its pods."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.facts.gone_successes import with_successes
from controller.facts.pod_counts import Membership, count_pods
from controller.facts.pods import Pod
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence
from shared.api.conditions import Terminal
from tests.support.builders.remembered_pods import pod, with_uids

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = "2026-01-01T10:00:05Z"
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
SERVE = Component(name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=2)
A = pod("a", "Succeeded", index="/0")


def counted(pods: list[Pod], *components: Component, seen: tuple[Pod, ...] = ()) -> PodCounts:
    """The first component has the UID `job`, the second `deployment`."""
    membership = Membership(
        appwrapper_uid="u1",
        attempt=1,
        components=with_uids(components, "job", "deployment"),
    )
    return count_pods(with_successes(pods, seen, membership), membership, FaultTolerance(), NOW)


@pytest.mark.parametrize(
    ("there", "succeeded"),
    [
        pytest.param([], 1, id="it is gone"),
        pytest.param([A], 1, id="it is still there"),
        pytest.param([replace(A, deleting=True)], 1, id="it is going"),
        pytest.param([pod("b", index="/1", created=LATER)], 1, id="another index began later"),
        pytest.param([pod("b", index="/0", created=LATER)], 0, id="its index was begun anew"),
        pytest.param(
            [pod("b", owner_uid="job-2", owner_name="train", created=LATER, component=0)],
            1,
            id="another owner",
        ),
        pytest.param(
            [pod("b", owner_uid="job-2", created=LATER, component=0)],
            0,
            id="its owner was made anew under its name",
        ),
    ],
)
def test_a_pod_that_was_seen_to_end_well_counts_once(there: list[Pod], succeeded: int) -> None:
    counts = counted(there, JOB, seen=(A,))
    assert counts.succeeded == succeeded
    assert counts.existing == len({each.uid for each in (*there, *[A] * succeeded)})


@pytest.mark.parametrize(
    ("reported", "pods", "seen", "expected"),
    [
        pytest.param(1, [pod("b")], (), (1, 2), id="its object is gone, and nobody saw it"),
        pytest.param(1, [pod("b")], (A,), (1, 2), id="somebody saw it"),
        pytest.param(1, [A, pod("b")], (), (1, 2), id="it is there"),
        pytest.param(0, [A, pod("b")], (), (1, 2), id="it is not reported yet"),
        pytest.param(2, [], (A,), (2, 2), id="one of two was seen"),
        pytest.param(3, [pod("b")], (), (1, 2), id="more completions than pods at once"),
        pytest.param(1, [pod("b"), pod("c", "Pending")], (), (0, 2), id="no place is free"),
        pytest.param(
            1, [pod("b", "Failed"), pod("c", created=LATER)], (), (1, 2), id="one was replaced"
        ),
    ],
)
def test_reported_successes_count_for_deleted_pods(
    reported: int, pods: list[Pod], seen: tuple[Pod, ...], expected: tuple[int, int]
) -> None:
    counts = counted(pods, replace(JOB, succeeded_pods=reported), seen=seen)
    assert (counts.succeeded, counts.existing) == expected


def test_one_component_does_not_make_up_for_another() -> None:
    surplus = replace(JOB, succeeded_pods=9)
    assert counted([], surplus, SERVE) == PodCounts(expected=4, succeeded=2)


def test_reported_successes_speak_for_a_failed_pod_that_was_replaced() -> None:
    """Without index: parallelism is reached by the one that is gone and the replacement."""
    pods = [pod("b", "Failed"), pod("c", created=LATER)]
    assert counted(pods, JOB).failed == 1
    assert counted(pods, replace(JOB, succeeded_pods=1)).failed == 0


def test_a_succeeded_component_expects_no_pods() -> None:
    ended = replace(JOB, succeeded_pods=2, wanted_pods=0, terminal=Terminal.SUCCEEDED)
    assert counted([], ended, seen=(A,)) == PodCounts()


def test_a_stopped_server_has_not_succeeded() -> None:
    """Its pod exits 0 on SIGTERM, and is gone a moment later."""
    alone: dict[str, Any] = {"owner_uid": "deployment", "component": 1}
    stopped = pod("a", "Succeeded", deleting=True, **alone)
    assert counted([stopped], JOB, SERVE).loose_succeeded == 0
    before = replace(stopped, deleting=False)
    assert counted([before], JOB, SERVE).loose_succeeded == 1
    assert counted([stopped], JOB, SERVE, seen=(before,)).loose_succeeded == 1
    assert counted([], JOB, SERVE, seen=(before,)).loose_succeeded == 1


def test_recreated_workers_are_no_success_of_a_ray_cluster() -> None:
    """KubeRay removes one that ends, as does one that autoscaling drains, and makes another."""
    cluster = Component(name="ray", kind="RayCluster", presence=Presence.PRESENT, expected_pods=2)
    ended = tuple(pod(f"worker-{number}", "Succeeded") for number in range(5))
    head, worker = pod("head"), pod("worker-5", created=LATER)
    assert counted([head, worker], cluster, seen=ended) == PodCounts(expected=2, running=2)
    # In its place is nobody yet, or one that is to go.
    one = PodCounts(expected=2, running=1, succeeded=1, loose_succeeded=1)
    assert counted([head], cluster, seen=ended) == one
    going = replace(worker, deleting=True)
    assert counted([head, going], cluster, seen=ended) == replace(one, deleting=1)


@pytest.mark.parametrize(
    ("wanted", "pods", "deferred"),
    [
        (None, [], 0),
        (0, [], 2),
        (1, [pod("a")], 1),
        pytest.param(1, [pod("a"), pod("b", "Pending")], 0, id="what is there is wanted"),
        pytest.param(0, [pod("a", deleting=True)], 2, id="save what is going"),
        pytest.param(0, [A], 1, id="what ended well was wanted"),
        (2, [], 0),
        (9, [], 0),
    ],
)
def test_pods_that_a_component_does_not_want_yet(
    wanted: int | None, pods: list[Pod], deferred: int
) -> None:
    counts = counted(pods, replace(JOB, wanted_pods=wanted), SERVE)
    assert (counts.expected, counts.deferred, counts.wanted) == (4, deferred, 4 - deferred)
    assert counts.staged == (wanted is not None)


@pytest.mark.parametrize(
    ("indices", "index", "succeeded"),
    [
        pytest.param("0", "/1", 2, id="another, of which the Job has yet to hear"),
        pytest.param("1-3", "/1", 1, id="the same"),
        pytest.param("", "/1", 1, id="it does not say which"),
        pytest.param("?,2-", "/1", 2, id="no indices at all"),
    ],
)
def test_a_job_reports_succeeded_indices(indices: str, index: str, succeeded: int) -> None:
    job = replace(JOB, succeeded_pods=1, succeeded_indices=indices)
    assert counted([pod("b", "Succeeded", index=index)], job).succeeded == succeeded


@pytest.mark.parametrize(
    ("owner", "succeeded"), [("set-driver-0", 1), ("set-work-0", 2), ("set-driver-x-0", 2)]
)
def test_a_job_set_reports_succeeded_jobs(owner: str, succeeded: int) -> None:
    job_set = replace(JOB, succeeded_pods=1, succeeded_by_owner=(("set-driver-", 1, 1),))
    pods = [pod("b", "Succeeded", owner_uid="j", owner_name=owner, component=0)]
    assert counted(pods, job_set).succeeded == succeeded


def test_a_job_whose_pods_did_not_all_succeed_is_none_of_those_that_did() -> None:
    """After a restart: the first of two Jobs is done, and its pods are gone."""
    of_both: dict[str, Any] = {
        "expected_pods": 4,
        "succeeded_pods": 2,
        "succeeded_by_owner": (("set-w-", 1, 2),),
    }
    job_set = replace(JOB, **of_both)
    second: dict[str, Any] = {"owner_uid": "j", "owner_name": "set-w-1", "component": 0}
    pods = [pod("b", "Succeeded", **second), pod("c", **second)]
    counts = counted(pods, job_set)
    assert (counts.succeeded, counts.running) == (3, 1)
    first = [pod(name, "Succeeded", owner_uid="i", owner_name="set-w-0", component=0)
             for name in ("x", "y")]  # fmt: skip
    assert counted([*pods, *first], job_set).succeeded == 3
    # More completions than pods at once.
    assert counted([*pods, *first, replace(first[0], uid="z")], job_set).succeeded == 4
