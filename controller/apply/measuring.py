"""Measures what was decided: resets, failures, how soon trouble was seen, what a reset costs."""

from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Final

from controller.facts.observe import Observation
from controller.memory import Measured, Memory
from controller.metrics import ControllerMetrics
from controller.phases.actions import Actions, MoveTo, SetCondition
from controller.phases.phase import Phase, Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, transition_time
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY
from shared.api.objects import JsonObject
from shared.api.quantities import QuantityError, parse_quantity
from shared.kinds.kind import PodSetError, template_at
from shared.kinds.table import component_pod_sets
from shared.process.clock import Clock

# How much of a resource an AppWrapper's pods ask for, by their templates.

_NOTHING: Final = Decimal(0)
# No cluster has as much: it never ran, and would spoil every sum that it got into.
_ABSURD: Final = Decimal(10) ** 9


def requested_amounts(appwrapper: AppWrapper, resources: Collection[str]) -> dict[str, float]:
    """Of each of `resources` that its pods ask for: the amount of one pod times replicas, summed.

    For a metric: what cannot be read counts as nothing, and is refused elsewhere.
    """
    total = dict.fromkeys(resources, _NOTHING)
    for component in appwrapper.components:
        for template, replicas in _pod_templates(component):
            for name in total:
                total[name] += _of_pod(template, name) * replicas
    return {name: float(amount) for name, amount in total.items() if 0 < amount < _ABSURD}


def _pod_templates(component: JsonObject) -> Iterable[tuple[JsonObject, int]]:
    try:
        for pod_set in component_pod_sets(component):
            yield template_at(component.get("template") or {}, pod_set.path), pod_set.replicas
    except PodSetError:
        return


def _of_pod(template: JsonObject, name: str) -> Decimal:
    """As the scheduler counts: init containers run before the others, unless they stay."""
    spec = template["spec"]
    staying, passing = _NOTHING, _NOTHING
    for container in _objects(spec.get("initContainers")):
        amount = _of_container(container, name)
        if container.get("restartPolicy") == "Always":
            staying += amount
        else:
            passing = max(passing, staying + amount)
    together = sum(
        (_of_container(each, name) for each in _objects(spec.get("containers"))), staying
    )
    return max(together, passing)


def _of_container(container: JsonObject, name: str) -> Decimal:
    """A limit alone is a request too, and of an extended resource both are equal."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return _NOTHING
    for kind in ("requests", "limits"):
        amounts = resources.get(kind)
        if isinstance(amounts, dict) and amounts.get(name) is not None:
            try:
                return parse_quantity(amounts[name])
            except QuantityError:
                return _NOTHING
    return _NOTHING


def _objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


_TROUBLE: Final = frozenset({Phase.RESETTING, Phase.FAILED})
_OVER: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.SUSPENDED, Phase.TERMINATING})

# Seconds since a watch told of what this pass answers; None where a deadline began the pass.
AgeOfChange = Callable[[tuple[str, str]], float | None]


class Meter:
    """`resources` are those whose loss is counted. Nothing here can fail, or delay a decision."""

    def __init__(
        self,
        metrics: ControllerMetrics,
        clock: Clock,
        memory: Memory,
        age_of_change: AgeOfChange,
        resources: Iterable[str] = (),
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._age_of_change = age_of_change
        self._resources = tuple(resources)
        self._memory = memory

    def measure(self, observation: Observation, actions: Actions) -> None:
        """To be called once the status is written, with what it was decided on."""
        appwrapper, now = observation.appwrapper, self._clock.monotonic()
        self._look_for_first_pod(observation, now)
        if (reason := _found(appwrapper, actions)) is not None:
            age = self._age_of_change((appwrapper.namespace, appwrapper.name))
            if age is not None:
                self._metrics.detected(reason, age)
        for action in actions:
            if isinstance(action, MoveTo):
                self._count(appwrapper, action, now)

    def _look_for_first_pod(self, observation: Observation, now: float) -> None:
        attempt = self._memory.known(observation.appwrapper.uid).measured
        if attempt is None or attempt.first_pod is not None or not observation.snapshot.pods.ready:
            return
        attempt.first_pod = now
        self._metrics.first_pod(now - attempt.began)

    def _count(self, appwrapper: AppWrapper, move: MoveTo, now: float) -> None:
        counts, namespace = self._metrics.by_namespace, appwrapper.namespace
        counts.entered(namespace, move.phase, now)
        if move.phase is Phase.RESUMING:
            self._memory.of(appwrapper.uid).measured = Measured(now)
        elif move.phase is Phase.RESETTING:
            counts.reset(namespace, move.reason, self._lost(appwrapper, now), now)
        elif move.phase is Phase.FAILED:
            counts.failed(namespace, move.reason, now)
        if move.phase in _OVER:
            self._memory.known(appwrapper.uid).measured = None

    def _lost(self, appwrapper: AppWrapper, now: float) -> dict[str, float]:
        amounts = requested_amounts(appwrapper, self._resources)
        ran = self._ran_for(appwrapper, now) if amounts else 0.0
        return {name: amount * ran for name, amount in amounts.items()}

    def _ran_for(self, appwrapper: AppWrapper, now: float) -> float:
        """Since the first pod was seen to run; else, after a restart, since all of them did."""
        attempt = self._memory.known(appwrapper.uid).measured
        if attempt is not None:
            return 0.0 if attempt.first_pod is None else now - attempt.first_pod
        if not is_true(appwrapper.conditions, CONDITION_PODS_READY):
            return 0.0
        since = transition_time(appwrapper.conditions, CONDITION_PODS_READY)
        return 0.0 if since is None else max(0.0, (self._clock.now() - since).total_seconds())


def _found(appwrapper: AppWrapper, actions: Actions) -> Reason | None:
    """The trouble that these actions are the first answer to."""
    if is_true(appwrapper.conditions, CONDITION_UNHEALTHY):
        return None
    for action in actions:
        match action:
            case MoveTo(phase, reason) if phase in _TROUBLE:
                return reason
            case SetCondition(kind, True, reason) if kind == CONDITION_UNHEALTHY:
                return reason
    return None
