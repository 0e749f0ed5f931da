"""The order of writes, and what happens when the object changed meanwhile."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from controller.apply.applier import Applier
from controller.facts.observe import Observation
from controller.memory.memory import Measured, Memory
from controller.phases.actions import (
    Action,
    AddFinalizer,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    PlanDeployment,
    Reason,
    RemoveFinalizer,
    SetCondition,
    WakeAfter,
    reporting,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.reports.deleting_resources import DeletionBlocked
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Conflict, NotFound, PatchType
from tests.support.fakes.fake_kube import Call, FakeKube
from tests.support.moments import NOW

FINALIZER = "workload.codeflare.dev/finalizer"


def raw(version: str = "7", finalizers: tuple[str, ...] = (), **status: Any) -> dict[str, Any]:
    metadata = {
        "namespace": "team1",
        "name": "train",
        "uid": "u1",
        "resourceVersion": version,
        "finalizers": list(finalizers),
    }
    return {"metadata": metadata, "spec": {"components": []}, "status": status}


class ApplierBench:
    """An applier whose every effect is noted in one list."""

    def __init__(self, **answers: list[Any]) -> None:
        self.kube = FakeKube(answers=answers)
        self.effects: list[str] = []
        self.observed: list[str] = []
        kube: Any = self.kube
        me: Any = self
        self.memory = Memory()
        self.applier = Applier(kube, me, me, me, me, self.memory, ())

    def assume(self, written: dict[str, Any], *, silent: bool = False) -> None:
        version = written["metadata"]["resourceVersion"]
        self.observed.append(version if silent else f"{version}, for all to hear")

    def tell(self, observation: Any, actions: Any) -> None:
        self.effects.append("tell")

    async def create_missing(
        self,
        appwrapper: AppWrapper,
        texts: tuple[bytes, ...],
        now: datetime,
        config: FaultTolerance,
    ) -> None:
        self.effects.append(f"create {appwrapper.resource_version}")
        self.texts = texts

    async def delete(
        self, observation: Observation, mode: DeletionMode, *, keep: bool, nodes: Collection[str]
    ) -> None:
        self.effects.append(f"delete {mode}")

    async def apply(self, item: dict[str, Any], *actions: Action) -> timedelta | None:
        phase = Phase(item["status"].get("phase") or "")
        observation = Observation(AppWrapper(item), Snapshot(phase=phase), FaultTolerance())
        return await self.applier.apply(observation, actions, NOW)


def only(kube: FakeKube, method: str) -> Call:
    (call,) = kube.called(method)
    return call


async def test_an_end_has_a_line_for_accounting(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "accounting")
    bench = ApplierBench(update=[raw("8", phase="Failed"), raw("9", phase="Resetting")])
    await bench.apply(raw(phase="Running"), MoveTo(Phase.FAILED, Reason.FAILED_PODS))
    await bench.apply(raw(phase="Running"), MoveTo(Phase.RESETTING, Reason.FAILED_PODS))
    (line,) = [each for each in caplog.records if each.name == "accounting"]
    assert (line.getMessage(), line.__dict__["phase"]) == ("ended", "Failed")


async def test_a_refused_status_write_is_no_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "accounting")
    bench = ApplierBench(update=[Conflict(409, "Conflict", "")], get=[raw("8", phase="Running")])
    with pytest.raises(Conflict):
        await bench.apply(raw(phase="Running"), MoveTo(Phase.FAILED, Reason.FAILED_PODS))
    assert [each for each in caplog.records if each.name == "accounting"] == []


async def test_finalizer_then_status_then_components() -> None:
    bench = ApplierBench(patch=[raw("8", (FINALIZER,))], update=[raw("9", (FINALIZER,))])
    delay = await bench.apply(
        raw(phase="Suspended"),
        AddFinalizer(),
        MoveTo(Phase.RESUMING, Reason.RESUMING),
        PlanDeployment(),
        CreateComponents(),
        WakeAfter(timedelta(0)),
    )
    assert [call.method for call in bench.kube.calls] == ["patch", "update"]
    assert bench.effects == ["tell", "create 9"]
    assert bench.observed == ["8", "9"]
    assert delay == timedelta(0)
    patch = only(bench.kube, "patch")
    body = {"metadata": {"uid": "u1", "resourceVersion": "7", "finalizers": [FINALIZER]}}
    assert patch.args == (APPWRAPPERS, "team1", "train", body, PatchType.MERGE)
    update = only(bench.kube, "update")
    assert update.kwargs == {"subresource": "status"}
    assert update.args[3] == {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        # Without the uid the status could reach another AppWrapper of this name.
        "metadata": {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "8"},
        "status": {"phase": "Resuming", "attempt": 1, "componentStatus": []},
    }


BLOCKED = DeletionBlocked(left="Job train")


async def test_a_written_report_is_remembered_until_its_condition_changes() -> None:
    bench = ApplierBench(update=[raw("8"), raw("9")])
    await bench.apply(raw(), reporting(BLOCKED))
    assert bench.memory.known("u1").reported == {"DeletingResources": BLOCKED}
    gone = SetCondition("DeletingResources", False, Reason.DELETION_COMPLETE)
    await bench.apply(raw("8"), gone)
    assert bench.memory.known("u1").reported == {}


async def test_a_report_whose_write_fails_is_not_remembered() -> None:
    bench = ApplierBench(update=[Conflict(409, "Conflict", "changed")], get=[raw("8")])
    with pytest.raises(Conflict):
        await bench.apply(raw(), reporting(BLOCKED))
    assert bench.memory.known("u1").reported == {}


async def test_a_report_whose_text_is_stored_already_is_remembered_without_a_write() -> None:
    bench = ApplierBench(update=[raw("8")])
    await bench.apply(raw(), reporting(BLOCKED))
    [written] = bench.kube.called("update")
    bench.memory.of("u1").reported = {}
    await bench.apply(raw("8", **written.args[3]["status"]), reporting(BLOCKED))
    assert bench.memory.known("u1").reported == {"DeletingResources": BLOCKED}


WRAPPED = {"template": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}}


def wrapping(version: str, **status: Any) -> dict[str, Any]:
    """One of which caches do not know all that is to be created."""
    return raw(version, **status) | {"spec": {"components": [WRAPPED]}}


async def test_components_are_created_from_the_answer_to_the_status_write() -> None:
    bench = ApplierBench(update=[wrapping("8", phase="Resuming")])
    deploy = (MoveTo(Phase.RESUMING, Reason.RESUMING), CreateComponents())
    await bench.apply(wrapping("7", phase="Suspended"), *deploy)
    assert [call.method for call in bench.kube.calls] == ["update"]
    assert [orjson.loads(each) for each in bench.texts] == [WRAPPED]


async def test_without_a_status_write_the_created_components_are_read_live() -> None:
    bench = ApplierBench(get=[wrapping("7", phase="Resuming")])
    await bench.apply(wrapping("7", phase="Resuming"), CreateComponents())
    assert [call.method for call in bench.kube.calls] == ["get"]
    assert bench.effects == ["tell", "create 7"]
    assert [orjson.loads(each) for each in bench.texts] == [WRAPPED]


async def test_a_component_that_changed_since_the_decision_is_not_created() -> None:
    """It may be suspended by now."""
    bench = ApplierBench(get=[wrapping("8", phase="Resuming"), wrapping("8", phase="Resuming")])
    with pytest.raises(Conflict, match="changed since the decision to create its components"):
        await bench.apply(wrapping("7", phase="Resuming"), CreateComponents())
    assert bench.effects == ["tell"]
    assert bench.observed == ["8, for all to hear"]


async def test_a_status_that_did_not_change_is_not_written() -> None:
    bench = ApplierBench()
    assert await bench.apply(raw(phase="Running"), WakeAfter(timedelta(seconds=3))) == timedelta(
        seconds=3
    )
    assert bench.kube.calls == []


async def test_a_pass_without_actions_is_reported_only_until_the_first_pod_is_measured() -> None:
    bench = ApplierBench()
    bench.memory.of("u1").measured = measured = Measured(began=1.0)
    assert await bench.apply(raw(phase="Running")) is None
    assert bench.effects == ["tell"]
    measured.first_pod = 2.0
    assert await bench.apply(raw(phase="Running")) is None
    assert (bench.effects, bench.kube.calls) == (["tell"], [])


async def test_nothing_happens_when_the_status_could_not_be_written() -> None:
    bench = ApplierBench(update=[Conflict(409, "Conflict", "changed")], get=[raw("12")])
    with pytest.raises(Conflict):
        await bench.apply(
            raw(phase="Running"), MoveTo(Phase.SUSPENDING, Reason.SUSPENDING), DeleteComponents()
        )
    assert bench.effects == []
    # Others changed it, or made another of its name: what is known of the old one must go.
    assert bench.observed == ["12, for all to hear"]


async def test_a_conflict_over_something_that_is_gone() -> None:
    bench = ApplierBench(
        update=[Conflict(409, "Conflict", "changed")], get=[NotFound(404, "NotFound", "gone")]
    )
    with pytest.raises(Conflict):
        await bench.apply(raw(phase="Running"), MoveTo(Phase.SUSPENDING, Reason.SUSPENDING))
    assert bench.observed == []


async def test_the_finalizer_goes_last_and_others_stay() -> None:
    bench = ApplierBench(update=[raw("8", (FINALIZER, "other"))], patch=[raw("9", ("other",))])
    await bench.apply(
        raw("7", (FINALIZER, "other"), phase="Running"),
        MoveTo(Phase.TERMINATING, Reason.TERMINATING),
        DeleteComponents(),
        RemoveFinalizer(),
    )
    assert [call.method for call in bench.kube.calls] == ["update", "patch"]
    assert bench.effects == ["tell", "delete graceful"]
    assert only(bench.kube, "patch").args[3]["metadata"]["finalizers"] == ["other"]


async def test_removing_the_finalizer_of_a_deleted_appwrapper_succeeds() -> None:
    bench = ApplierBench(patch=[NotFound(404, "NotFound", "gone")])
    await bench.apply(raw("7", (FINALIZER,), phase="Terminating"), RemoveFinalizer())
    assert len(bench.kube.calls) == 1


async def test_a_move_without_a_delay_requeues_at_once() -> None:
    bench = ApplierBench(update=[raw("8"), raw("8")])
    suspended = MoveTo(Phase.SUSPENDED, Reason.SUSPENDED)
    assert await bench.apply(raw(), suspended) == timedelta(0)
    later = WakeAfter(timedelta(seconds=5))
    assert await bench.apply(raw(), suspended, later) == timedelta(seconds=5)
