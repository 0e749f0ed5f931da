"""Measure decisions: phases, resets, failures, evacuations, and how long each took."""

from collections.abc import Callable
from typing import Final

from controller.facts.appwrapper_outline import requested
from controller.facts.observe import Observation
from controller.facts.own_status import known_phase
from controller.facts.phase_times import phase_began
from controller.memory.memory import Measured, Memory
from controller.metrics import ControllerMetrics
from controller.phases.actions import (
    Action,
    Actions,
    MoveTo,
    RecordRootCause,
    RemoveFinalizer,
    SetCondition,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, transition_time
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY
from shared.process.clock import Clock

_TROUBLE: Final = frozenset({Phase.RESETTING, Phase.FAILED})
_ENDED: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.TERMINATING})
_OVER: Final = _ENDED | {Phase.SUSPENDED}

# Seconds since a watch reported the change that this pass handles; None after a deadline.
AgeOfChange = Callable[[tuple[str, str]], float | None]


class Meter:
    """Measures decisions. No method fails or waits."""

    def __init__(
        self,
        metrics: ControllerMetrics,
        clock: Clock,
        memory: Memory,
        age_of_change: AgeOfChange,
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._age_of_change = age_of_change
        self._memory = memory

    def measure(self, observation: Observation, actions: Actions) -> None:
        """Measure the decision on `observation`. Call after the status write."""
        appwrapper, now = observation.appwrapper, self._clock.monotonic()
        self._look_for_first_pod(observation, now)
        if (reason := _found(appwrapper, actions)) is not None:
            age = self._age_of_change((appwrapper.namespace, appwrapper.name))
            if age is not None:
                self._metrics.detection.labels(reason.value).observe(age)
        self._look_for_end_of_evacuation(appwrapper, actions, now)
        for action in actions:
            match action:
                case MoveTo():
                    self._leave(appwrapper, now)
                    self._count(observation, action, now)
                    self._memory.known(appwrapper.uid).entered = action.phase, now
                case RemoveFinalizer() if known_phase(appwrapper) is Phase.TERMINATING:
                    self._leave(appwrapper, now)
                case RecordRootCause(root_cause, decision) if decision is not Decision.NONE:
                    self._metrics.found_root_cause(root_cause)
                case _:
                    pass

    def swept(self, objects: int) -> None:
        """Count unexpected objects that were deleted."""
        self._metrics.unexpected.inc(objects)

    def _look_for_first_pod(self, observation: Observation, now: float) -> None:
        attempt = self._memory.known(observation.appwrapper.uid).measured
        if attempt is None or attempt.first_pod is not None or not observation.snapshot.pods.ready:
            return
        attempt.first_pod = now
        self._metrics.first_pod.observe(now - attempt.began)

    def _look_for_end_of_evacuation(
        self, appwrapper: AppWrapper, actions: Actions, now: float
    ) -> None:
        since = self._memory.known(appwrapper.uid).evacuated_since
        if since is None or not any(_says_ready(action) for action in actions):
            return
        self._memory.known(appwrapper.uid).evacuated_since = None
        self._metrics.evacuation_seconds.observe(now - since)

    def _count(self, observation: Observation, move: MoveTo, now: float) -> None:
        appwrapper = observation.appwrapper
        counts, namespace = self._metrics.by_namespace, appwrapper.namespace
        if known_phase(appwrapper) is Phase.EMPTY and move.phase is Phase.RESUMING:
            # Under the Go operator each AppWrapper is Suspended first, and dashboards count these.
            counts.entered(namespace, Phase.SUSPENDED, now)
        counts.entered(namespace, move.phase, now)
        if move.phase is Phase.RESUMING:
            self._memory.of(appwrapper.uid).measured = Measured(now)
        elif move.phase is Phase.RESETTING:
            counts.reset(namespace, move.reason, self._lost(appwrapper, now), now)
            if move.reason in (Reason.AUTOPILOT_NO_EXECUTE, Reason.DEVICE_TAINTED):
                self._begin_evacuation(observation, now)
        elif move.phase is Phase.FAILED:
            counts.failed(namespace, move.reason, now)
        if move.phase in _OVER:
            self._memory.known(appwrapper.uid).measured = None
        if move.phase in _ENDED:
            self._memory.known(appwrapper.uid).evacuated_since = None

    def _leave(self, appwrapper: AppWrapper, now: float) -> None:
        """Measure the phase that ends. After a restart the stored status shows when it began."""
        phase = known_phase(appwrapper)
        if phase is None or phase is Phase.EMPTY:
            return
        entered, began = self._memory.known(appwrapper.uid).entered, phase_began(appwrapper)
        seconds = self._metrics.phase_seconds.labels(phase.value)
        if entered is not None and entered[0] is phase:
            seconds.observe(now - entered[1])
        elif began is not None:
            seconds.observe(max(0.0, (self._clock.now() - began).total_seconds()))

    def _begin_evacuation(self, observation: Observation, now: float) -> None:
        """Count an evacuation, and remember when the node's label was seen.

        A suspension or another reset before the new pods run keeps that time. If a pod was placed
        on a node that already had the label, the duration is not measured.
        """
        if (evacuation := observation.snapshot.evacuation) is None:
            return
        for resource in evacuation.resources:
            self._metrics.evacuations.labels(resource).inc()
        remembered = self._memory.of(observation.appwrapper.uid)
        since = None if evacuation.spends_retry else evacuation.since
        if since is None or remembered.evacuated_since is not None:
            return
        age = (self._clock.now() - since).total_seconds()
        remembered.evacuated_since = now - max(0.0, age)

    def _lost(self, appwrapper: AppWrapper, now: float) -> dict[str, float]:
        amounts = requested(appwrapper)
        ran = self._ran_for(appwrapper, now) if amounts else 0.0
        return {name: amount * ran for name, amount in amounts.items()}

    def _ran_for(self, appwrapper: AppWrapper, now: float) -> float:
        """Return the seconds since the first pod ran; after a restart, since all pods ran."""
        attempt = self._memory.known(appwrapper.uid).measured
        if attempt is not None:
            return 0.0 if attempt.first_pod is None else now - attempt.first_pod
        if not is_true(appwrapper.conditions, CONDITION_PODS_READY):
            return 0.0
        since = transition_time(appwrapper.conditions, CONDITION_PODS_READY)
        return 0.0 if since is None else max(0.0, (self._clock.now() - since).total_seconds())


def _says_ready(action: Action) -> bool:
    match action:
        case SetCondition(kind, True) if kind == CONDITION_PODS_READY:
            return True
    return False


def _found(appwrapper: AppWrapper, actions: Actions) -> Reason | None:
    """Return the reason that these actions report first; None if it was reported before."""
    if is_true(appwrapper.conditions, CONDITION_UNHEALTHY):
        return None
    for action in actions:
        match action:
            case MoveTo(phase, reason) if phase in _TROUBLE:
                return reason
            case SetCondition(kind, True, reason) if kind == CONDITION_UNHEALTHY:
                return reason
    return None
