"""When the node of an attempt's first failure is remembered, and in which write."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.apply.status import status_after
from controller.facts.components import project_component
from controller.facts.effective_fault_tolerance import effective_fault_tolerance
from controller.facts.observe import Observation, Reads, locate_from, observe
from controller.phases import decide
from controller.phases.actions import MoveTo, RecordSuspect
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
    Suspect,
    Timers,
)
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal
from shared.config.configuration import AppWrapperConfig
from tests.support.builders.remembered_pods import pod
from tests.support.decisions import EXIT_42

NOW = datetime(2026, 1, 2, 10, tzinfo=UTC)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
SUSPECT = Suspect(node="n1", pod="train-0")
FAILED = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "Unhealthy"}),
    components=(JOB,),
    pods=PodCounts(expected=2, running=1, failed=1, failed_named="train-0"),
    timers=Timers(admission=LONG_AGO, warmup=LONG_AGO, failure=LONG_AGO),
    suspect=SUSPECT,
)
GAVE_UP = (replace(JOB, terminal=Terminal.FAILED),)
GONE = (replace(JOB, presence=Presence.GONE),)
LEAVING = (replace(JOB, presence=Presence.DELETING),)
WELL = replace(FAILED, pods=PodCounts(expected=2, running=2), suspect=None)
HELD = ResetHold(HoldReason.PAUSED, "paused")


@pytest.mark.parametrize(
    ("snapshot", "phase", "remembered"),
    [
        (FAILED, Phase.RESETTING, True),
        (replace(FAILED, components=GAVE_UP), Phase.RESETTING, True),
        (replace(FAILED, retries=3), Phase.FAILED, True),
        (replace(FAILED, suspect=None), Phase.RESETTING, False),
        (
            replace(
                FAILED,
                pods=replace(FAILED.pods, terminal=EXIT_42),
            ),
            Phase.FAILED,
            False,
        ),
        (replace(FAILED, components=GONE), Phase.FAILED, False),
        (replace(FAILED, components=LEAVING), Phase.FAILED, False),
        # The label names the bad node; its peers failed for it.
        (replace(FAILED, evacuation=Evacuation("why")), Phase.RESETTING, False),
        (
            replace(FAILED, components=GAVE_UP, evacuation=Evacuation("why")),
            Phase.RESETTING,
            False,
        ),
        (replace(WELL, evacuation=Evacuation("why")), Phase.RESETTING, False),
        (replace(WELL, pods=PodCounts(expected=2, running=1)), Phase.RESETTING, False),
        (replace(FAILED, suspend=True), Phase.SUSPENDING, False),
        (replace(FAILED, reset_hold=HELD), None, False),
        (replace(FAILED, timers=replace(FAILED.timers, failure=NOW)), None, False),
    ],
)
def test_the_end_of_an_attempt_remembers_the_node(
    snapshot: Snapshot, phase: Phase | None, remembered: bool
) -> None:
    actions = decide(snapshot, NOW, CONFIG)
    moves = [each.phase for each in actions if isinstance(each, MoveTo)]
    assert moves == ([] if phase is None else [phase])
    found = [each for each in actions if isinstance(each, RecordSuspect)]
    assert found == ([RecordSuspect(SUSPECT)] if remembered else [])


def test_the_memory_is_in_the_write_that_announces_the_reset() -> None:
    raw = {"metadata": {"name": "train"}, "status": {"phase": "Running", "attempt": 4}}
    actions = decide(FAILED, NOW, CONFIG)
    status = status_after(AppWrapper(raw), FAILED.timers, actions, NOW)
    assert (status["phase"], status["suspectNodes"]) == (
        "Resetting",
        [{"node": "n1", "since": "2026-01-02T10:00:00Z", "pod": "train-0", "attempt": 4}],
    )


# What an attempt's pods make of it.


def appwrapper(**status: Any) -> AppWrapper:
    recorded = {
        "name": "train",
        "kind": "Job",
        "apiVersion": "batch/v1",
        "podSets": [{"path": "template.spec.template", "replicas": 2}],
    }
    labels = {"workload.codeflare.dev/user": "alice"}
    return AppWrapper(
        {
            "metadata": {"namespace": "team1", "name": "train", "uid": "u1", "labels": labels},
            "spec": {"components": [{"template": {}}]},
            "status": {"attempt": 1, "componentStatus": [recorded], **status},
        }
    )


def suspect_of(*pods: Any, gave_up: bool = False, mode: str = "Preferred") -> Suspect | None:
    item = appwrapper()
    config = effective_fault_tolerance(
        item, AppWrapperConfig.model_validate({"suspectNodes": mode})
    )
    failed = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]
    job: Any = {"metadata": {"name": "train", "uid": "job", "resourceVersion": "1"}}
    job["status"] = {"conditions": failed if gave_up else []}
    facts = project_component("batch/Job", job)
    component = locate_from(item, 0, Presence.PRESENT, None, facts)
    running = Observation(item, Snapshot(phase=Phase.RUNNING), config)
    return observe(Reads(running, NOW, [component], pods)).snapshot.suspect


EARLY = pod("a", "Failed", node="n1", failed_at="2026-01-02T09:00:00Z", exit_codes=(1,))
LATE = pod("b", "Failed", node="n2", failed_at="2026-01-02T09:30:00Z", exit_codes=(1,))
SOUND = (pod("c", node="n3"), pod("d", node="n4"))


def test_a_failure_that_was_made_up_for_counts_only_once_its_component_gives_up() -> None:
    assert suspect_of(EARLY) == Suspect("n1", "a")
    assert suspect_of(EARLY, *SOUND) is None
    assert suspect_of(EARLY, LATE, SOUND[0], gave_up=True) == Suspect("n1", "a")


def test_pods_of_other_attempts_and_other_appwrappers_do_not_count() -> None:
    assert suspect_of(replace(EARLY, attempt="0")) is None
    assert suspect_of(replace(EARLY, appwrapper_uid="u2"), LATE) == Suspect("n2", "b")


def test_off_remembers_nothing() -> None:
    assert suspect_of(EARLY, mode="Off") is None
    assert suspect_of(EARLY, mode="Required") == Suspect("n1", "a")
