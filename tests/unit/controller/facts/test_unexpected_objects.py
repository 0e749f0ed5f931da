"""Which objects the phase and attempt of an AppWrapper cannot have."""

from datetime import UTC, datetime
from typing import Any

import pytest

from controller.facts.components import ComponentFacts
from controller.facts.unexpected_objects import Owned, Unexpected, find_unexpected
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot, Timers
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_KEEP, CONDITION_RESOURCES_DEPLOYED
from shared.api.objects import CONFIGMAPS
from shared.kinds.job import JOBS
from tests.support.builders.remembered_pods import pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEPT = {
    "annotations": {ANNOTATION_KEEP: "true"},
    "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
}
APPWRAPPER = AppWrapper(
    {
        "metadata": {"namespace": "team1", "name": "train", "uid": "u1"},
        "spec": {"components": [{"template": {"kind": "Job"}}, KEPT]},
        "status": {"attempt": 2},
    }
)
PAUSES = Timers(retry_pause=NOW)


def snapshot(phase: Phase, *, deployed: bool = True, timers: Timers | None = None) -> Snapshot:
    conditions = frozenset({CONDITION_RESOURCES_DEPLOYED} if deployed else ())
    return Snapshot(phase=phase, conditions=conditions, timers=timers or Timers())


def job(attempt: str, **changes: Any) -> Owned:
    fields: dict[str, Any] = {
        "namespace": "team1",
        "name": f"train-{attempt}",
        "group_kind": "batch/Job",
        "uid": f"job-{attempt}",
        "owner_uid": "u1",
        "owner_name": "train",
        "attempt": attempt,
        "deleting": False,
        "component": 0,
        "controlled": True,
    }
    return JOBS, ComponentFacts(**{**fields, **changes})


def found(state: Snapshot, *owned: Owned, **changes: Any) -> Unexpected:
    return find_unexpected(APPWRAPPER, state, owned, changes.pop("pods", ()), **changes)


def due(unexpected: Unexpected) -> list[str]:
    return [each.name for each in unexpected.due]


RUNS = snapshot(Phase.RUNNING)
WAITS = snapshot(Phase.SUSPENDED, deployed=False)


@pytest.mark.parametrize("phase", Phase)
def test_an_object_of_an_earlier_attempt_is_unexpected_in_every_phase(phase: Phase) -> None:
    early = pod("late", attempt="1")
    assert due(found(snapshot(phase), job("1"), pods=[early])) == ["train-1", "late"]


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("label", ["3", "", "x", "-1"])
def test_an_object_of_a_later_attempt_or_without_one_is_never_unexpected(
    phase: Phase, label: str
) -> None:
    state = snapshot(phase, deployed=False, timers=PAUSES)
    assert found(state, job(label), pods=[pod("other", attempt=label)]) == Unexpected()


@pytest.mark.parametrize(
    ("state", "unexpected"),
    [
        pytest.param(WAITS, True, id="Suspended"),
        pytest.param(snapshot(Phase.RESUMING), False, id="Resuming"),
        pytest.param(RUNS, False, id="Running"),
        pytest.param(snapshot(Phase.RESETTING), False, id="Resetting, deleting"),
        pytest.param(snapshot(Phase.RESETTING, timers=PAUSES), True, id="Resetting, pausing"),
        pytest.param(snapshot(Phase.SUSPENDING), False, id="Suspending"),
        pytest.param(snapshot(Phase.SUCCEEDED), False, id="Succeeded, kept for its TTL"),
        pytest.param(snapshot(Phase.SUCCEEDED, deployed=False), True, id="Succeeded, deleted"),
        pytest.param(snapshot(Phase.FAILED), False, id="Failed, kept for its grace period"),
        pytest.param(snapshot(Phase.FAILED, deployed=False), True, id="Failed, deleted"),
        pytest.param(snapshot(Phase.TERMINATING), False, id="Terminating"),
    ],
)
def test_an_object_of_this_attempt_is_unexpected_once_all_objects_are_gone(
    state: Snapshot, unexpected: bool
) -> None:
    late = pod("late", attempt="2")
    names = ["train-2", "late"] if unexpected else []
    assert due(found(state, job("2"), pods=[late])) == names


def test_a_kept_component_is_never_unexpected() -> None:
    kept = job("1", component=1)
    assert found(WAITS, (CONFIGMAPS, kept[1])) == Unexpected()


def test_a_component_without_the_label_of_its_index_is_never_unexpected() -> None:
    assert found(WAITS, job("1", component=None)) == Unexpected()


def test_an_object_that_is_known_to_be_gone_is_not_unexpected() -> None:
    gone = ("job-1", "uid-late")
    assert found(WAITS, job("1"), pods=[pod("late")], absent=gone) == Unexpected()


def test_a_component_takes_its_own_pods_along() -> None:
    own, other = pod("own", component=0), pod("other", component=1)
    assert due(found(RUNS, job("1"), pods=[own, other])) == ["train-1", "other"]
    assert due(found(RUNS, job("1", deleting=True), pods=[own, other])) == ["other"]


def test_an_object_that_two_watches_show_is_deleted_once() -> None:
    assert due(found(RUNS, job("1"), job("1"))) == ["train-1"]


@pytest.mark.parametrize(
    ("phase", "deleting", "alive"),
    [
        ("Running", False, True),
        ("Pending", False, True),
        ("Running", True, True),
        ("Succeeded", False, False),
        ("Failed", False, False),
    ],
)
def test_a_pod_is_alive_until_it_ends_even_while_it_is_being_deleted(
    phase: str, deleting: bool, alive: bool
) -> None:
    unexpected = found(RUNS, pods=[pod("late", phase, deleting=deleting)])
    assert (unexpected.alive, due(unexpected)) == (alive, [] if deleting else ["late"])


@pytest.mark.parametrize("deleting", [False, True])
def test_a_component_may_make_pods_until_its_deletion_begins(deleting: bool) -> None:
    unexpected = found(RUNS, job("1", deleting=deleting))
    assert unexpected.alive is not deleting
    assert [each.name for each in unexpected.components] == ["train-1"]
