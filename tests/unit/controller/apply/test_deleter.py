import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.apply.deleter import AT_ONCE, FORCED_AGAIN, NODE_PATIENCE, SHORTEST_GRACE, Deleter
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation
from controller.memory.memory import Memory
from controller.phases.actions import DeletionMode
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.objects import PODS
from shared.kinds.train_job import TRAIN_JOB
from shared.kube.client import (
    ApiError,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    Propagation,
    TooManyRequests,
    Unreachable,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube

APPWRAPPER = AppWrapper(
    {"metadata": {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}}
)
DEPLOYED = (DeployedObject(JOBS, "a", "uid-a", False), DeployedObject(JOBS, "b", "uid-b", True))
POD = DeployedObject(PODS, "a-0", "uid-0", False)


def observation(*, stray: bool = False, deployed: Any = DEPLOYED) -> Observation:
    snapshot = Snapshot(phase=Phase.SUSPENDING, stray_pods=stray)
    return Observation(APPWRAPPER, snapshot, FaultTolerance(), deployed, (POD,))


class DeleterBench:
    """A deleter, what it sent, and what it remembers."""

    def __init__(self, *answers: Any) -> None:
        self.kube = FakeKube(answers={"delete": list(answers)})
        self.memory = Memory()
        self.deletions = self.memory.deletions
        self.clock = FakeClock()
        client: Any = self.kube
        self.swept: list[str] = []
        self.delete = Deleter(client, self.deletions, self.clock, self._sweep).delete

    def _sweep(self, appwrapper: AppWrapper, objects: Sequence[DeployedObject]) -> None:
        assert appwrapper is APPWRAPPER
        self.swept += [each.name for each in objects]


def sent(kube: FakeKube) -> list[tuple[str, str, Any]]:
    calls = kube.called("delete")
    for call in calls:
        pod = call.args[0] == PODS
        propagation = Propagation.BACKGROUND if pod else Propagation.FOREGROUND
        assert call.kwargs["propagation"] is propagation
    assert all(call.args[1] == "team1" for call in calls)
    return [
        (call.args[2], call.kwargs["uid"], call.kwargs["grace_period_seconds"]) for call in calls
    ]


async def test_components_by_uid_with_their_own_grace_and_only_once() -> None:
    bench = DeleterBench(None)
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    assert sent(bench.kube) == [("a", "uid-a", None)]


async def test_one_that_failed_is_sent_again() -> None:
    bench = DeleterBench(Unreachable("timed out"), None)
    with pytest.raises(Unreachable):
        await bench.delete(observation(), DeletionMode.GRACEFUL)
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(bench.kube)) == 2


async def test_the_memory_ends_with_the_appwrapper() -> None:
    bench = DeleterBench(None, None)
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    bench.memory.forget("u1", ("team1", "train"))
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(bench.kube)) == 2


@pytest.mark.parametrize(
    "answer", [NotFound(404, "NotFound", "gone"), Conflict(409, "Conflict", "other UID")]
)
async def test_an_object_that_is_not_there_is_a_reason_to_look_and_no_proof(
    answer: Exception,
) -> None:
    """The watch may be behind, or the Kind not served for a moment: as long as it is seen it is
    asked to go."""
    bench = DeleterBench(answer, None)
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    assert "uid-a" in bench.deletions.known("u1").absent
    await bench.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(bench.kube)) == 2


DENIED = Forbidden(403, "Forbidden", 'admission webhook "keep" denied the request: not this one')
FAILED = ApiError(500, "InternalError", "failed calling webhook")


@pytest.mark.parametrize("refusal", [DENIED, FAILED])
async def test_a_refused_delete_stops_no_other_and_its_reason_is_remembered(
    refusal: ApiError, caplog: pytest.LogCaptureFixture
) -> None:
    both = (DEPLOYED[0], DeployedObject(JOBS, "c", "uid-c", False))
    bench = DeleterBench(refusal, None, refusal, None)
    for names in (["a", "c"], ["a", "c", "a"]):
        await bench.delete(observation(deployed=both), DeletionMode.GRACEFUL)
        assert [name for name, _, _ in sent(bench.kube)] == names
        assert bench.deletions.known("u1").refused.get("uid-a", "") == refusal.message
    assert caplog.messages == [f"Job a may not be deleted: {refusal}"]
    await bench.delete(observation(deployed=both), DeletionMode.GRACEFUL)
    assert bench.deletions.known("u1").refused.get("uid-a", "") == ""


@pytest.mark.parametrize(
    ("answer", "phase"),
    [
        (DENIED, Phase.RUNNING),
        (TooManyRequests(429, "TooManyRequests", "later"), Phase.SUSPENDING),
        (Unreachable("away"), Phase.SUSPENDING),
    ],
)
async def test_a_failed_delete_that_no_pass_would_repeat_soon_is_an_error(
    answer: KubeError, phase: Phase
) -> None:
    bench = DeleterBench(answer)
    seen = replace(observation(), snapshot=Snapshot(phase=phase))
    with pytest.raises(type(answer)):
        await bench.delete(seen, DeletionMode.GRACEFUL)


async def test_two_components_that_are_one_object_are_deleted_once() -> None:
    bench = DeleterBench(None)
    await bench.delete(
        observation(deployed=(DEPLOYED[0], DEPLOYED[0])), DeletionMode.FORCE_COMPONENTS
    )
    assert sent(bench.kube) == [("a", "uid-a", 0)]


async def test_many_pods_go_a_few_at_a_time() -> None:
    under_way = most = 0

    async def count(*_: Any, **__: Any) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    bench = DeleterBench()
    client: Any = type("Client", (), {"delete": staticmethod(count)})
    pods = tuple(DeployedObject(PODS, f"p{i}", f"uid-{i}", False) for i in range(100))
    many = replace(observation(), pods=pods)
    await Deleter(client, bench.deletions, bench.clock, bench._sweep).delete(
        many, DeletionMode.FORCE_PODS
    )
    assert most == AT_ONCE


async def test_after_a_failed_delete_the_pass_ends_once_the_other_deletes_are_answered() -> None:
    """A delete that is still under way would race with the next pass."""
    answered: list[str] = []

    async def answer(_resource: Any, _namespace: str, name: str, **_: Any) -> None:
        if name == "a":
            raise Unreachable("timed out")
        for _turn in range(5):
            await asyncio.sleep(0)
        answered.append(name)

    bench = DeleterBench()
    client: Any = type("Client", (), {"delete": staticmethod(answer)})
    deployed = tuple(DeployedObject(JOBS, name, f"uid-{name}", False) for name in "abc")
    with pytest.raises(Unreachable):
        await Deleter(client, bench.deletions, bench.clock, bench._sweep).delete(
            observation(deployed=deployed), DeletionMode.GRACEFUL
        )
    assert answered == ["b", "c"]


async def test_stray_pods_go_themselves() -> None:
    bench = DeleterBench(None)
    await bench.delete(observation(stray=True, deployed=()), DeletionMode.GRACEFUL)
    assert sent(bench.kube) == [("a-0", "uid-0", None)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (DeletionMode.HELPERS, "a"),
        (DeletionMode.STRAGGLERS, "a-0"),
        (DeletionMode.WITH_COMPONENT, "c"),
    ],
)
async def test_pods_that_outlive_success_are_deleted(mode: DeletionMode, expected: str) -> None:
    bench = DeleterBench(None)
    left = replace(
        observation(),
        helpers=DEPLOYED[:1],
        stragglers=(POD,),
        deleted_with_pods=(DeployedObject(JOBS, "c", "uid-c", False),),
    )
    await bench.delete(left, mode)
    assert [name for name, _, _ in sent(bench.kube)] == [expected]


async def test_components_are_forced_without_grace_and_still_foreground() -> None:
    bench = DeleterBench(None, None, None)
    await bench.delete(observation(), DeletionMode.FORCE_PODS)
    await bench.delete(observation(), DeletionMode.FORCE_COMPONENTS)
    pod, *components = sent(bench.kube)
    assert pod == ("a-0", "uid-0", SHORTEST_GRACE)
    assert components == [("a", "uid-a", 0), ("b", "uid-b", 0)]


async def test_a_pod_is_killed_by_its_node_and_only_where_that_does_not_help_removed() -> None:
    """With grace 0 the object would go at once, and the process would not."""
    bench = DeleterBench(None, None)
    for elapsed, expected in ((0, [1]), (NODE_PATIENCE - 1, [1]), (1, [1, 0])):
        await bench.clock.advance(elapsed)
        await bench.delete(observation(), DeletionMode.FORCE_PODS)
        assert sent(bench.kube) == [("a-0", "uid-0", grace) for grace in expected]


@pytest.mark.parametrize(
    ("left", "seconds"),
    [(-60, 0), (0, 0), (20, 20), (600, 600), (3600, 600)],
)
async def test_a_node_that_heard_late_gets_its_time_but_no_more_than_the_user_set(
    left: int, seconds: int
) -> None:
    """The garbage collector was busy, say. The default is ten minutes."""
    bench = DeleterBench(None, None)
    deletion_deadline = (bench.clock.now() + timedelta(seconds=left)).strftime("%Y-%m-%dT%H:%M:%SZ")
    late = replace(
        observation(), pods=(replace(POD, deleting=True, deletion_deadline=deletion_deadline),)
    )
    patience = seconds + NODE_PATIENCE
    for elapsed, expected in ((0, [1]), (patience - 1, [1]), (1, [1, 0])):
        await bench.clock.advance(elapsed)
        await bench.delete(late, DeletionMode.FORCE_PODS)
        assert sent(bench.kube) == [("a-0", "uid-0", grace) for grace in expected]


async def test_a_pod_on_a_silent_node_is_removed_at_once() -> None:
    """Nobody there would hear of a shorter grace period. Others have a node that does."""
    bench = DeleterBench(None, None)
    lost = replace(POD, name="a-1", uid="uid-1", node="dark")
    pods = (lost, replace(POD, node="bright"))
    left = replace(observation(), pods=pods, silent_nodes=frozenset({"dark"}))
    await bench.delete(left, DeletionMode.FORCE_PODS)
    assert sent(bench.kube) == [("a-0", "uid-0", 1), ("a-1", "uid-1", 0)]


async def test_only_pods_that_are_leaving_are_forced_after_success() -> None:
    bench = DeleterBench(None)
    leaving = replace(POD, name="a-1", uid="uid-1", deleting=True)
    left = replace(observation(), pods=(POD, leaving))
    await bench.delete(left, DeletionMode.FORCE_LEAVING)
    assert sent(bench.kube) == [("a-1", "uid-1", SHORTEST_GRACE)]


async def test_not_forced_again_with_every_pass_but_after_a_while() -> None:
    bench = DeleterBench(None, None, None)
    sends = ((0, 1), (NODE_PATIENCE, 2), (FORCED_AGAIN - 1, 2), (1, 3), (0, 3))
    for elapsed, times in sends:
        await bench.clock.advance(elapsed)
        await bench.delete(observation(), DeletionMode.FORCE_PODS)
        assert len(sent(bench.kube)) == times


async def test_components_are_forced_again_only_after_the_long_while() -> None:
    """A pod's second delete comes early, because the first one asks its node."""
    bench = DeleterBench(*[None] * 4)
    for elapsed, times in ((0, 2), (NODE_PATIENCE, 2), (FORCED_AGAIN - NODE_PATIENCE, 4)):
        await bench.clock.advance(elapsed)
        await bench.delete(observation(), DeletionMode.FORCE_COMPONENTS)
        assert len(sent(bench.kube)) == times


async def test_background_only_for_what_was_proved_empty() -> None:
    bench = DeleterBench(None)
    await bench.delete(replace(observation(), empty=DEPLOYED[1:]), DeletionMode.BACKGROUND_EMPTY)
    (call,) = bench.kube.called("delete")
    assert (call.args[2], call.kwargs) == (
        "b",
        {"uid": "uid-b", "propagation": Propagation.BACKGROUND, "grace_period_seconds": 0},
    )


@pytest.mark.parametrize(
    ("mode", "in_background"),
    [
        (DeletionMode.GRACEFUL, True),
        (DeletionMode.HELPERS, True),
        (DeletionMode.UNEXPECTED, True),
        (DeletionMode.FORCE_COMPONENTS, False),
    ],
)
async def test_an_idle_component_is_deleted_in_the_background(
    mode: DeletionMode, in_background: bool
) -> None:
    """The garbage collector deletes its pods, so these are awaited."""
    idle = (replace(DEPLOYED[0], idle=True),)
    bench = DeleterBench(None)
    left = replace(observation(deployed=idle), helpers=idle, unexpected=idle)
    await bench.delete(left, mode)
    [call] = bench.kube.called("delete")
    assert (call.kwargs["propagation"] is Propagation.BACKGROUND) is in_background
    assert bench.deletions.known("u1").collected == ({"uid-a"} if in_background else set())


@pytest.mark.parametrize("deleting", [False, True])
async def test_a_train_job_is_deleted_in_the_background_even_if_another_client_began(
    deleting: bool,
) -> None:
    """The update that ends a foreground deletion is rejected once its runtime is gone."""
    train_job = replace(DEPLOYED[0], resource=TRAIN_JOB.resource, deleting=deleting)
    bench = DeleterBench(None)
    for _ in range(2):
        await bench.delete(observation(deployed=(train_job,)), DeletionMode.GRACEFUL)
    [call] = bench.kube.called("delete")
    assert call.kwargs["propagation"] is Propagation.BACKGROUND


@pytest.mark.parametrize(
    "mode",
    [DeletionMode.GRACEFUL, DeletionMode.FORCE_COMPONENTS, DeletionMode.BACKGROUND_EMPTY],
)
async def test_kept_components_stay_where_they_are_to_stay(mode: DeletionMode) -> None:
    kept = (replace(DEPLOYED[0], keep=True),)
    bench = DeleterBench(None)
    left = replace(observation(deployed=kept), empty=kept)
    await bench.delete(left, mode, keep=True)
    assert bench.kube.calls == []
    await bench.delete(left, mode)
    assert len(bench.kube.calls) == 1


LATE = (DeployedObject(JOBS, "late", "uid-j", False), replace(POD, name="late-0", uid="uid-p"))


def unexpected() -> Observation:
    return replace(observation(), unexpected=LATE)


async def test_unexpected_objects_are_deleted_and_reported_once() -> None:
    bench = DeleterBench(None, None)
    for _ in range(2):
        await bench.delete(unexpected(), DeletionMode.UNEXPECTED)
    assert sent(bench.kube) == [("late", "uid-j", None), ("late-0", "uid-p", None)]
    assert bench.swept == ["late", "late-0"]


async def test_an_unexpected_object_that_only_a_cache_shows_is_not_reported() -> None:
    bench = DeleterBench(NotFound(404, "NotFound", "gone"), None)
    await bench.delete(unexpected(), DeletionMode.UNEXPECTED)
    assert bench.swept == ["late-0"]
    assert "uid-j" in bench.deletions.known("u1").absent


async def test_unexpected_objects_that_went_are_reported_although_another_delete_failed() -> None:
    bench = DeleterBench(None, Unreachable("no route"))
    with pytest.raises(Unreachable):
        await bench.delete(unexpected(), DeletionMode.UNEXPECTED)
    assert bench.swept == ["late"]


async def test_pods_that_are_cut_off_are_removed_once_their_owner_is_leaving() -> None:
    bench = DeleterBench(None)
    cut_off = DeployedObject(PODS, "a-0", "uid-0", True, node="dark")
    others = (
        replace(cut_off, name="a-1", uid="uid-1", deleting=False),
        replace(cut_off, name="a-2", uid="uid-2", node="light"),
    )
    left = replace(observation(), pods=(cut_off, *others))
    await bench.delete(left, DeletionMode.FORCE_CUT_OFF, nodes={"dark"})
    await bench.delete(left, DeletionMode.FORCE_CUT_OFF, nodes={"dark"})
    assert sent(bench.kube) == [("a-0", "uid-0", 0)]
