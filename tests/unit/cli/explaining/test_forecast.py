"""What the controller will do, and exactly when: its own deadlines, on both sides."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cli.cluster.operator_configuration import OperatorConfiguration
from cli.cluster.unread import Unread
from cli.explaining.answers.next_steps import next_steps
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.case import case_of
from cli.explaining.forecast import Step, StepKind
from shared.config.configuration import AppWrapperConfig, Configuration
from tests.support.builders.annotations import prefixed
from tests.support.builders.autopilot import GPU
from tests.support.builders.explained import deployed, ending
from tests.support.builders.explained.objects import NOW, ago


def later(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def steps(seen: AppWrapperObjects) -> list[tuple[float, StepKind, str]]:
    """When from NOW on, what, and the phase or the reason."""
    return [
        ((each.at - NOW).total_seconds(), each.change, each.phase or each.reason)
        for each in case_of(seen).steps
    ]


def test_pods_that_never_run_turn_it_unhealthy_and_then_reset_it() -> None:
    """Warm-up began 60 s ago and lasts for 5 minutes; then it has a minute to heal."""
    assert steps(deployed.unschedulable()) == [
        (240, StepKind.UNHEALTHY, "InsufficientPodsReady"),
        (300, StepKind.PHASE, "Resetting"),
    ]


def test_a_failed_pod_has_the_rest_of_its_grace_period() -> None:
    (step,) = case_of(deployed.unhealthy()).steps
    assert step == Step(
        at=NOW + later(40),
        change=StepKind.PHASE,
        phase="Resetting",
        reason="FoundFailedPods",
        message="1 failed pod: train-1-x7k2p on gpu-2 (exit code 139)",
        spends_retry=True,
    )


@pytest.mark.parametrize(("seconds", "at"), [(39, 40), (40, 40), (41, 41)])
def test_the_deadline_stands_while_time_passes(seconds: float, at: float) -> None:
    """Once it is over, the reset is due now."""
    seen = replace(deployed.unhealthy(), now=NOW + later(seconds))
    assert steps(seen) == [(at, StepKind.PHASE, "Resetting")]


def test_without_a_retry_left_it_fails() -> None:
    seen = deployed.unhealthy()
    seen.appwrapper["metadata"]["annotations"] = {
        "workload.codeflare.dev.appwrapper/retryLimit": "1"
    }
    assert steps(seen) == [(40, StepKind.PHASE, "Failed")]


def test_an_annotation_moves_the_deadline() -> None:
    seen = deployed.unhealthy()
    seen.appwrapper["metadata"]["annotations"] = {
        "workload.codeflare.dev.appwrapper/failureGracePeriodDuration": "10m"
    }
    assert steps(seen) == [(580, StepKind.PHASE, "Resetting")]


def test_the_configuration_changes_the_forecast_for_its_readers() -> None:
    seen = deployed.unhealthy()
    behaviour = AppWrapperConfig.model_validate({"faultTolerance": {"failureGracePeriod": "5m"}})
    world = replace(seen.world, settings=OperatorConfiguration(Configuration(appwrapper=behaviour)))
    assert steps(replace(seen, world=world)) == [(280, StepKind.PHASE, "Resetting")]


def test_a_pause_of_resets_is_in_the_forecast_for_its_readers() -> None:
    seen = deployed.unhealthy()
    behaviour = AppWrapperConfig.model_validate({"pauseResets": True})
    world = replace(seen.world, settings=OperatorConfiguration(Configuration(appwrapper=behaviour)))
    assert steps(replace(seen, world=world)) == [(40, StepKind.UNHEALTHY, "ResetsPaused")]


def test_a_failure_whose_records_are_in_the_error_store_has_no_forecast() -> None:
    """A user cannot read the store, and a record may forbid the retry."""
    seen = deployed.unhealthy()
    stores = {"errorAggregation": {"stores": {"team": "s3://b/errors"}}}
    behaviour = AppWrapperConfig.model_validate({"faultTolerance": stores})
    world = replace(seen.world, settings=OperatorConfiguration(Configuration(appwrapper=behaviour)))
    seen.appwrapper["metadata"]["annotations"] = {
        "workload.codeflare.dev.appwrapper/errorStore": "team"
    }
    assert steps(replace(seen, world=world)) == []


def test_the_retry_pause_is_a_little_longer_than_asked_for() -> None:
    ((at, change, phase),) = steps(ending.retry_pause())
    assert (change, phase) == (StepKind.PHASE, "Resuming")
    assert 60 <= at <= 69


def test_a_deletion_is_forced_after_its_period() -> None:
    assert steps(ending.resetting()) == [(560, StepKind.FORCES, "")]


def test_once_everything_is_deleted_only_the_retry_pause_is_left() -> None:
    """The controller has not seen it yet, so its status still says that it deletes."""
    gone = replace(ending.resetting(), pods=(), components=(None,))
    ((at, change, phase),) = steps(gone)
    assert (change, phase) == (StepKind.PHASE, "Resuming")
    assert 90 <= at <= 99


def test_a_failed_appwrapper_is_kept_for_the_users_period() -> None:
    assert steps(ending.failed_and_kept()) == [(29 * 60 + 20, StepKind.DELETES, "")]


def test_success_is_kept_for_its_ttl() -> None:
    assert steps(ending.succeeded()) == [(7 * 86400 - 300, StepKind.DELETES, "")]


@pytest.mark.parametrize(
    "seen",
    [deployed.runs(), deployed.pods_not_readable(), deployed.resets_paused(), ending.failed()],
)
def test_nothing_is_foreseen_where_nothing_is_due(seen: AppWrapperObjects) -> None:
    assert steps(seen) == []


def held_by_no_node(timers: dict[str, float], **world: Any) -> AppWrapperObjects:
    """The pod without a node has waited for 60 s; failUnschedulable is 2 minutes."""
    seen = deployed.unschedulable()
    stored = seen.appwrapper
    stored["metadata"]["annotations"] = prefixed(failUnschedulableDuration="2m")
    stored["status"]["timers"] |= {
        name: {**stored["status"]["timers"]["warmup"], "began": ago(seconds)}
        for name, seconds in timers.items()
    }
    return replace(seen, world=replace(seen.world, **world))


def test_a_pod_that_no_node_can_hold_fails_when_the_controller_s_period_is_over() -> None:
    small = {"metadata": {"name": "gpu-1", "uid": "n"}, "status": {"allocatable": {GPU: "4"}}}
    seen = held_by_no_node({"unschedulable": 50}, nodes=(small,))
    case = case_of(seen)
    (step,) = case.steps
    assert ((step.at - NOW).total_seconds(), step.phase, step.reason) == (
        70,
        "Failed",
        "Unschedulable",
    )
    assert next_steps(case)[0].what == f"It fails for good: {step.message}."
    assert step.message == (
        f"no node can hold pod {case.pods[1].name}, which requests 8 {GPU}: the largest node,"
        f" gpu-1, has 4 {GPU}"
    )
    unreadable = held_by_no_node({"unschedulable": 50}, nodes=Unread("nodes", "forbidden"))
    (blind,) = case_of(unreadable).steps
    assert (blind.at, blind.message) == (step.at, f"no node can hold pod {case.pods[1].name}")


def test_only_the_controller_knows_the_nodes_of_a_day_so_its_timer_decides() -> None:
    small = {"metadata": {"name": "gpu-1", "uid": "n"}, "status": {"allocatable": {GPU: "4"}}}
    assert steps(held_by_no_node({}, nodes=(small,))) == steps(deployed.unschedulable())
    large = {**small, "status": {"allocatable": {GPU: "8", "cpu": "80"}}}
    again = held_by_no_node({"unschedulable": 50}, nodes=(large,))
    assert steps(again) == steps(deployed.unschedulable()), "a larger node has come"
