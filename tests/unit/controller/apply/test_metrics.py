"""What is counted of decisions, and how long things took."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.apply.metrics import Meter
from controller.facts.appwrapper_outline import outlined
from controller.facts.observe import Observation
from controller.memory.memory import Memory
from controller.metrics import ControllerMetrics
from controller.phases.actions import MoveTo, RemoveFinalizer, SetCondition
from controller.phases.phase import Phase
from controller.phases.snapshot import Evacuation, FaultTolerance, PodCounts, Snapshot
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_time
from tests.support.fakes.fake_clock import START, FakeClock

GPU = "nvidia.com/gpu"
FOUR_GPUS = {
    "template": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {
            "parallelism": 2,
            "template": {"spec": {"containers": [{"resources": {"limits": {GPU: "2"}}}]}},
        },
    }
}
RESUME = MoveTo(Phase.RESUMING, Reason.RESUMING)
RESET = MoveTo(Phase.RESETTING, Reason.FAILED_PODS)
UNHEALTHY = SetCondition("Unhealthy", True, Reason.FAILED_PODS)
EVACUATE = MoveTo(Phase.RESETTING, Reason.AUTOPILOT_NO_EXECUTE)
READY = SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY)
# The node's label was seen half a second before the decision.
BAD_NODE = Evacuation("node n1", resources=frozenset({GPU}), since=START - timedelta(seconds=0.5))


class MeterBench:
    """One AppWrapper and what is measured of it."""

    def __init__(self, age: float | None = None) -> None:
        self.clock = FakeClock()
        self.metrics = ControllerMetrics([GPU])
        self.memory = Memory()
        self.meter = Meter(self.metrics, self.clock, self.memory, lambda key: age)
        self.conditions: list[Any] = []
        self.phase = ""

    def decide(self, *actions: Any, running: int = 0, evacuation: Evacuation | None = None) -> None:
        metadata = {"namespace": "team1", "name": "train", "uid": "u1"}
        spec = {"components": [FOUR_GPUS]}
        status = {"phase": self.phase, "conditions": self.conditions}
        raw = outlined({"metadata": metadata, "spec": spec, "status": status}, [GPU])
        pods = PodCounts(running=running)
        snapshot = Snapshot(phase=Phase.RUNNING, pods=pods, evacuation=evacuation)
        self.meter.measure(Observation(AppWrapper(raw), snapshot, FaultTolerance()), actions)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    def evacuations(self) -> tuple[float | None, ...]:
        """How many began, how many of them were over, and how long these took."""
        histogram = "appwrapper_evacuation_seconds"
        return (
            self.value("appwrapper_evacuations_total", resource=GPU),
            self.value(f"{histogram}_count"),
            self.value(f"{histogram}_sum"),
        )

    def phases(self, *phases: str) -> list[tuple[float | None, float | None]]:
        """How many left each phase, and how long they were in it together."""
        histogram = "appwrapper_phase_seconds"
        return [
            (
                self.value(f"{histogram}_count", phase=each),
                self.value(f"{histogram}_sum", phase=each),
            )
            for each in phases
        ]

    def lost(self) -> float | None:
        return self.value(
            "appwrapper_gpu_seconds_lost_total",
            namespace="team1", resource=GPU, reason="FoundFailedPods",
        )  # fmt: skip


def test_phases_resets_and_failures_are_counted_by_reason() -> None:
    bench = MeterBench()
    bench.decide(RESUME)
    bench.decide(RESET, UNHEALTHY)
    bench.decide(MoveTo(Phase.FAILED, Reason.MISSING_COMPONENT))
    phases = ("Resuming", "Resetting", "Failed", "Running")
    counted = [
        bench.value("appwrapper_phase_total", namespace="team1", phase=each) for each in phases
    ]
    assert counted == [1, 1, 1, 0]
    resets = ("FoundFailedPods", "AutopilotNoExecute")
    assert [
        bench.value("appwrapper_resets_total", namespace="team1", reason=each) for each in resets
    ] == [1, 0]
    failures = ("MissingComponent", "FoundFailedPods")
    assert [
        bench.value("appwrapper_failures_total", namespace="team1", reason=each)
        for each in failures
    ] == [1, 0]


def test_a_phase_is_measured_when_it_is_left() -> None:
    bench = MeterBench()
    bench.phase = "Suspended"
    bench.decide(RESUME)
    bench.phase = "Resuming"
    bench.clock.pass_by(0.5)
    bench.decide(MoveTo(Phase.RUNNING, Reason.DEPLOYED))
    bench.phase = "Running"
    bench.clock.pass_by(600)
    bench.decide(UNHEALTHY)
    bench.clock.pass_by(60)
    assert bench.phases("Running") == [(0, 0)]
    bench.decide(RESET)
    assert bench.phases("Resuming", "Running", "Resetting") == [(1, 0.5), (1, 660), (0, 0)]


def test_after_a_restart_a_phase_is_measured_from_its_stored_beginning() -> None:
    bench = MeterBench()
    bench.phase = "Suspended"
    since = format_time(START - timedelta(seconds=30))
    waits = {"type": "QuotaReserved", "status": "False", "lastTransitionTime": since}
    bench.conditions = [waits]
    bench.decide(RESUME)
    assert bench.phases("Suspended") == [(1, 30)]
    ahead = format_time(START + timedelta(seconds=30))
    bench.conditions = [waits | {"lastTransitionTime": ahead}]
    bench.decide(RESUME)
    assert bench.phases("Suspended") == [(2, 30)]


def test_a_phase_that_another_process_began_is_measured_from_its_stored_beginning() -> None:
    bench = MeterBench()
    bench.decide(RESUME)
    bench.clock.pass_by(900)
    bench.phase = "Failed"
    since = format_time(bench.clock.now() - timedelta(seconds=30))
    bench.conditions = [{"type": "Unhealthy", "status": "True", "lastTransitionTime": since}]
    bench.decide(MoveTo(Phase.TERMINATING, Reason.TERMINATING))
    assert bench.phases("Failed") == [(1, 30)]


@pytest.mark.parametrize("phase", ["", "Paused", "Running"])
def test_a_phase_without_a_known_beginning_is_not_measured(phase: str) -> None:
    bench = MeterBench()
    bench.phase = phase
    bench.decide(RESUME)
    assert {count for count, _ in bench.phases(*list(Phase)[1:])} == {0}


def test_the_last_phase_ends_with_the_finalizer() -> None:
    bench = MeterBench()
    bench.phase = "Running"
    bench.decide(RESUME)  # so that something is remembered of it
    bench.decide(MoveTo(Phase.TERMINATING, Reason.TERMINATING))
    bench.clock.pass_by(40)
    bench.phase = "Terminating"
    bench.decide(RemoveFinalizer())
    assert bench.phases("Terminating") == [(1, 40)]


def test_one_that_vanishes_at_once_was_never_terminating() -> None:
    bench = MeterBench()
    bench.phase = "Suspended"
    bench.decide(MoveTo(Phase.TERMINATING, Reason.TERMINATING), RemoveFinalizer())
    assert bench.phases("Terminating") == [(0, 0)]


def test_the_first_pod_is_timed_from_the_beginning_of_each_attempt() -> None:
    bench = MeterBench()
    for seconds in (3, 40):
        bench.decide(RESUME)
        bench.decide(MoveTo(Phase.RUNNING, Reason.DEPLOYED))
        bench.clock.pass_by(seconds)
        bench.decide(running=1)
        bench.clock.pass_by(100)
        bench.decide(running=2)
    assert bench.value("appwrapper_first_pod_seconds_count") == 2
    assert bench.value("appwrapper_first_pod_seconds_sum") == 43


def test_a_reset_costs_all_gpus_for_as_long_as_pods_ran() -> None:
    bench = MeterBench()
    bench.decide(RESUME)
    bench.clock.pass_by(50)
    bench.decide(running=1)
    bench.clock.pass_by(600)
    bench.decide(RESET, running=1)
    assert bench.lost() == 4 * 600


@pytest.mark.parametrize(
    ("ready", "lost"),
    [pytest.param("True", 4 * 30, id="pods ran"), pytest.param("False", 0, id="they did not")],
)
def test_after_a_restart_the_condition_shows_since_when_pods_ran(ready: str, lost: float) -> None:
    bench = MeterBench()
    since = format_time(START - timedelta(seconds=30))
    bench.conditions = [{"type": "PodsReady", "status": ready, "lastTransitionTime": since}]
    bench.decide(RESET, running=1)
    assert bench.lost() == lost


def test_without_a_pod_that_ran_nothing_is_lost() -> None:
    bench = MeterBench()
    bench.decide(RESUME)
    bench.clock.pass_by(600)
    bench.decide(RESET)
    assert bench.lost() == 0


@pytest.mark.parametrize(
    ("age", "conditions", "actions", "detected"),
    [
        pytest.param(0.25, [], (RESET, UNHEALTHY), 1, id="a reset at once"),
        pytest.param(0.25, [], (UNHEALTHY,), 1, id="unhealthy, and it may heal"),
        pytest.param(None, [], (UNHEALTHY,), 0, id="a deadline showed it"),
        pytest.param(
            0.25, [{"type": "Unhealthy", "status": "True"}], (RESET,), 0, id="it was known already"
        ),
        pytest.param(0.25, [], (MoveTo(Phase.RUNNING, Reason.DEPLOYED),), 0, id="no trouble"),
    ],
)
def test_the_delay_of_a_reported_problem_is_measured(
    age: float | None, conditions: list[Any], actions: Any, detected: int
) -> None:
    bench = MeterBench(age)
    bench.conditions = conditions
    bench.decide(*actions)
    count = bench.value("appwrapper_detection_seconds_count", reason="FoundFailedPods")
    assert count == detected
    total = bench.value("appwrapper_detection_seconds_sum", reason="FoundFailedPods")
    assert total == 0.25 * detected


def test_an_ended_or_deleted_appwrapper_is_forgotten() -> None:
    bench = MeterBench()
    ends: tuple[Callable[[], None], ...] = (
        lambda: bench.decide(MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED)),
        lambda: bench.memory.forget("u1", ("team1", "train")),
    )
    for end in ends:
        bench.decide(RESUME)
        end()
        bench.decide(running=1)
    assert bench.memory.known("u1").measured is None
    assert bench.value("appwrapper_first_pod_seconds_count") == 0


def test_an_evacuation_lasts_from_the_label_until_all_new_pods_run() -> None:
    bench = MeterBench()
    assert bench.evacuations() == (0, 0, 0)
    bench.decide(RESUME)
    bench.decide(READY, running=2)
    bench.decide(EVACUATE, evacuation=BAD_NODE)
    assert bench.evacuations() == (1, 0, 0)
    bench.clock.pass_by(90)
    bench.decide(MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER))
    bench.clock.pass_by(3)
    bench.decide(running=1)
    assert bench.evacuations() == (1, 0, 0)
    bench.clock.pass_by(2)
    bench.decide(READY, running=2)
    assert bench.evacuations() == (1, 1, 95.5)
    bench.decide(SetCondition("PodsReady", False, Reason.INSUFFICIENT_PODS_READY))
    bench.decide(READY, running=2)
    assert bench.evacuations() == (1, 1, 95.5)


def test_an_event_in_between_does_not_restart_the_measurement() -> None:
    """Another bad node, a failure of the new pods, a suspension by Kueue."""
    bench = MeterBench()
    bench.decide(EVACUATE, evacuation=BAD_NODE)
    bench.clock.pass_by(100)
    again = replace(BAD_NODE, since=START + timedelta(seconds=100))
    bench.decide(EVACUATE, evacuation=again)
    bench.decide(RESET)
    bench.decide(MoveTo(Phase.SUSPENDED, Reason.SUSPENDED))
    bench.clock.pass_by(100)
    bench.decide(RESUME)
    bench.decide(READY)
    assert bench.evacuations() == (2, 1, 200.5)


def test_pods_that_end_at_once_ran() -> None:
    bench = MeterBench()
    bench.decide(EVACUATE, evacuation=BAD_NODE)
    bench.clock.pass_by(95)
    bench.decide(MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED), READY)
    assert bench.evacuations() == (1, 1, 95.5)


@pytest.mark.parametrize(
    "end",
    [
        MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
        MoveTo(Phase.FAILED, Reason.FAILED_PODS),
        MoveTo(Phase.TERMINATING, Reason.TERMINATING),
    ],
)
def test_an_evacuated_one_that_never_runs_again_is_not_measured(end: MoveTo) -> None:
    bench = MeterBench()
    bench.decide(EVACUATE, evacuation=BAD_NODE)
    bench.decide(end)
    bench.decide(READY)
    assert bench.evacuations() == (1, 0, 0)


def test_one_that_waits_for_an_admin_counts_once_it_begins() -> None:
    bench = MeterBench()
    held = SetCondition("Unhealthy", True, Reason.EVACUATION_HELD)
    bench.decide(held, evacuation=BAD_NODE)
    bench.clock.pass_by(600)
    assert bench.evacuations() == (0, 0, 0)
    bench.decide(EVACUATE, evacuation=BAD_NODE)
    bench.decide(READY)
    assert bench.evacuations() == (1, 1, 600.5)


def test_without_a_retry_left_nothing_is_evacuated() -> None:
    bench = MeterBench()
    bench.decide(MoveTo(Phase.FAILED, Reason.AUTOPILOT_NO_EXECUTE), evacuation=BAD_NODE)
    assert bench.evacuations() == (0, 0, 0)


def test_a_label_older_than_the_pods_place_measures_nothing() -> None:
    bench = MeterBench()
    bench.decide(EVACUATE, evacuation=replace(BAD_NODE, spends_retry=True))
    bench.decide(READY)
    assert bench.evacuations() == (1, 0, 0)


def test_a_clock_that_was_set_back_makes_no_time_negative() -> None:
    bench = MeterBench()
    bench.decide(EVACUATE, evacuation=replace(BAD_NODE, since=START + timedelta(hours=1)))
    bench.decide(READY)
    assert bench.evacuations() == (1, 1, 0)


def test_after_a_restart_a_running_measurement_is_lost_and_nothing_else() -> None:
    bench = MeterBench()
    bench.conditions = [{"type": "Unhealthy", "status": "True", "reason": "AutopilotNoExecute"}]
    bench.decide(MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER))
    bench.decide(READY, running=2)
    assert bench.evacuations() == (0, 0, 0)


@pytest.mark.parametrize(("phase", "suspended"), [("", 1), ("Suspended", 0)])
def test_one_that_starts_with_its_first_write_counts_as_suspended_too(
    phase: str, suspended: int
) -> None:
    bench = MeterBench()
    bench.phase = phase
    bench.decide(RESUME)
    counted = [
        bench.value("appwrapper_phase_total", namespace="team1", phase=each)
        for each in ("Suspended", "Resuming")
    ]
    assert counted == [suspended, 1]


def test_unexpected_objects_are_counted() -> None:
    bench = MeterBench()
    bench.meter.swept(3)
    assert bench.metrics.registry.get_sample_value("appwrapper_unexpected_components_total") == 3
