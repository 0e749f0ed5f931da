from dataclasses import replace
from typing import Any

import pytest

from controller.apply.deleter import Deleter
from controller.observation import Deployed, Observation
from controller.phases.actions import DeletionMode
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.appwrapper import AppWrapper
from shared.kube.client import Propagation
from shared.kube.errors import Conflict, NotFound, Unreachable
from shared.kube.resource import PODS, Resource
from tests.builders.fake_kube import FakeKube

JOBS = Resource("batch", "v1", "jobs", "Job")
APPWRAPPER = AppWrapper(
    {"metadata": {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}}
)
DEPLOYED = (Deployed(JOBS, "a", "uid-a", False), Deployed(JOBS, "b", "uid-b", True))
POD = Deployed(PODS, "a-0", "uid-0", False)


def observation(*, stray: bool = False, deployed: Any = DEPLOYED) -> Observation:
    snapshot = Snapshot(phase=Phase.SUSPENDING, stray_pods=stray)
    return Observation(APPWRAPPER, snapshot, FaultTolerance(), deployed, (POD,))


def deleter(*answers: Any) -> tuple[Deleter, FakeKube]:
    kube = FakeKube(answers={"delete": list(answers)})
    client: Any = kube
    return Deleter(client), kube


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
    one, kube = deleter(None)
    await one.delete(observation(), DeletionMode.GRACEFUL)
    await one.delete(observation(), DeletionMode.GRACEFUL)
    assert sent(kube) == [("a", "uid-a", None)]


async def test_one_that_failed_is_sent_again() -> None:
    one, kube = deleter(Unreachable("timed out"), None)
    with pytest.raises(Unreachable):
        await one.delete(observation(), DeletionMode.GRACEFUL)
    await one.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(kube)) == 2


async def test_what_is_remembered_ends_with_the_appwrapper() -> None:
    one, kube = deleter(None, None)
    await one.delete(observation(), DeletionMode.GRACEFUL)
    one.forget("u1")
    await one.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(kube)) == 2


@pytest.mark.parametrize(
    "answer", [NotFound(404, "NotFound", "gone"), Conflict(409, "Conflict", "other UID")]
)
async def test_gone_is_what_was_wanted(answer: Exception) -> None:
    one, kube = deleter(answer)
    await one.delete(observation(), DeletionMode.GRACEFUL)
    assert len(sent(kube)) == 1


async def test_stray_pods_go_themselves() -> None:
    one, kube = deleter(None)
    await one.delete(observation(stray=True, deployed=()), DeletionMode.GRACEFUL)
    assert sent(kube) == [("a-0", "uid-0", None)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (DeletionMode.HELPERS, "a"),
        (DeletionMode.STRAGGLERS, "a-0"),
        (DeletionMode.OUTLIVED, "c"),
    ],
)
async def test_what_is_left_after_success(mode: DeletionMode, expected: str) -> None:
    one, kube = deleter(None)
    left = replace(
        observation(),
        helpers=DEPLOYED[:1],
        stragglers=(POD,),
        outlived=(Deployed(JOBS, "c", "uid-c", False),),
    )
    await one.delete(left, mode)
    assert [name for name, _, _ in sent(kube)] == [expected]


async def test_forceful() -> None:
    one, kube = deleter(None, None, None)
    await one.delete(observation(), DeletionMode.FORCE_PODS)
    await one.delete(observation(), DeletionMode.FORCE_COMPONENTS)
    assert sent(kube) == [("a-0", "uid-0", 0), ("a", "uid-a", 0), ("b", "uid-b", 0)]
