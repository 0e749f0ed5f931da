"""Which failed pods somebody has made up for."""

from dataclasses import replace

import pytest

from controller.facts.pod_counts import Membership, unreplaced_failures
from controller.facts.pods import Pod
from controller.phases.snapshot import Component, Presence
from tests.support.builders.remembered_pods import pod, with_uids

EARLIER, LATER = "2026-01-01T10:00:00Z", "2026-01-01T10:00:05Z"
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
SERVE = Component(name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=2)


def of(*components: Component) -> Membership:
    """The first component has the UID `job`, the second `deployment`."""
    return Membership(
        appwrapper_uid="u1",
        attempt=1,
        components=with_uids(components, "job", "deployment"),
    )


def failures(pods: list[Pod], membership: Membership) -> list[str]:
    return [each.name for each in unreplaced_failures(pods, membership)]


@pytest.mark.parametrize(
    ("others", "failed"),
    [
        pytest.param([], ["a"], id="nobody took its place"),
        pytest.param([pod("b")], ["a"], id="one of two is there"),
        pytest.param([pod("b"), pod("c", "Pending")], [], id="two of two are there"),
        pytest.param([pod("b"), pod("c", "Succeeded")], [], id="one of them succeeded"),
        pytest.param([pod("b"), pod("c", deleting=True)], ["a"], id="one of them is going"),
        pytest.param(
            [pod("b"), pod("c", owner_uid="rs", component=1)],
            ["a"],
            id="one of them is of another component",
        ),
        pytest.param([pod("b", "Pending", index="/0", created=LATER)], [], id="a newer one"),
        pytest.param([pod("b", index="/1", created=LATER)], ["a"], id="newer, of another index"),
        pytest.param(
            [pod("b", index="/0", created=LATER, owner_uid="other", component=0)],
            ["a"],
            id="newer, of another owner",
        ),
        pytest.param([pod("b", "Failed", index="/0")], ["b"], id="two failures in a second"),
        pytest.param(
            [pod("b", "Failed", index="/0", created=LATER)], ["b"], id="the newer failed too"
        ),
    ],
)
def test_pods_of_a_job(others: list[Pod], failed: list[str]) -> None:
    assert failures([pod("a", "Failed", index="/0"), *others], of(JOB, SERVE)) == failed


def test_within_one_second_the_pod_that_has_not_failed_is_the_newer_one() -> None:
    pods = [pod("z", "Failed", index="/0"), pod("a", "Pending", index="/0")]
    assert failures(pods, of(JOB, SERVE)) == []


def test_an_evicted_pod_of_a_deployment() -> None:
    """Its owner is the ReplicaSet, which is no component and gives no index."""
    pods = [
        pod(name, phase, owner_uid="replica-set", component=1)
        for name, phase in (("a", "Failed"), ("b", "Running"), ("c", "Pending"))
    ]
    assert failures(pods[:2], of(JOB, SERVE)) == ["a"]
    assert failures(pods, of(JOB, SERVE)) == []


def of_job_set(name: str, phase: str, owner: str, index: int, created: str = "") -> Pod:
    return pod(
        name, phase, component=0, owner_uid=owner, index=f"/{index}", created=created or EARLIER
    )


JOB_SET = of(replace(JOB, kind="JobSet", expected_pods=4))
OTHER_JOB = [of_job_set(f"b{i}", "Succeeded", "job-b", i) for i in range(3)]


@pytest.mark.parametrize(
    ("pods", "failed"),
    [
        pytest.param(
            [of_job_set("a1", "Running", "job-a", 1), *OTHER_JOB],
            ["a0"],
            id="what the other Job has too many does not make up for it",
        ),
        pytest.param(
            [of_job_set("b9", "Running", "job-b", 0, LATER), *OTHER_JOB],
            ["a0"],
            id="nor does a newer pod of that index",
        ),
        pytest.param(
            [of_job_set("a9", "Pending", "job-a", 0, LATER)], [], id="its own Job made another"
        ),
    ],
)
def test_a_job_of_a_job_set_answers_for_its_own_pods(pods: list[Pod], failed: list[str]) -> None:
    assert failures([of_job_set("a0", "Failed", "job-a", 0), *pods], JOB_SET) == failed


MPI_JOB = of(replace(JOB, kind="MPIJob", reports=False, expected_pods=3))
WORKERS = [pod(f"w{i}", index=f"worker/{i}") for i in range(2)]


@pytest.mark.parametrize(
    ("others", "failed"),
    [
        pytest.param(WORKERS, ["l0"], id="it has not tried again"),
        pytest.param([*WORKERS, pod("w2", index="worker/2")], ["l0"], id="a worker too many"),
        pytest.param([*WORKERS, pod("l1", owner_uid="launcher", component=0)], [], id="it has"),
    ],
)
def test_a_launcher_that_its_own_job_tries_again(others: list[Pod], failed: list[str]) -> None:
    launcher = pod("l0", "Failed", owner_uid="launcher", component=0)
    assert failures([launcher, *others], MPI_JOB) == failed


def test_a_pod_without_component_label_replaces_no_other() -> None:
    pods = [pod(name, "Running", owner_uid="who?") for name in "bcdefg"]
    assert failures([pod("a", "Failed", owner_uid="who?"), *pods], of(JOB, SERVE)) == ["a"]
