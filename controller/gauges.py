"""Gauges of what the caches hold, computed at each scrape instead of at each change."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.facts.evacuation import Key
from controller.facts.remembered_appwrapper import Outline
from controller.phases.phase import Phase
from shared.api.objects import Resource

# Returns each AppWrapper's namespace and name, and its outline, which holds its times.
Outlines = Callable[[], Iterable[tuple[Key, Outline]]]
# Seconds that an AppWrapper may hold quota without any pod: its pods are created in less.
_WITHOUT_PODS: Final = 60.0


class PhaseGauge(Collector):
    """How many AppWrappers are in each phase."""

    def __init__(self, count: Callable[[], Mapping[str, int]]) -> None:
        self._count = count

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge. An AppWrapper before its first pass has the empty phase."""
        gauge = GaugeMetricFamily("appwrappers", "AppWrappers by phase, now.", labels=["phase"])
        counted = self._count()
        for phase in Phase:
            gauge.add_metric([phase.value], counted.get(phase.value, 0))
        yield gauge


class WaitGauges(Collector):
    """Reads all AppWrappers at each scrape. A namespace without AppWrappers has no sample."""

    def __init__(self, outlines: Outlines, now: Callable[[], float]) -> None:
        self._outlines = outlines
        self._now = now

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield one family for each metric, with a sample for each namespace."""
        now = self._now()
        waits: dict[str, float] = {}
        unused: dict[str, float] = {}
        blocked: dict[str, float] = {}
        for (namespace, _), outline in self._outlines():
            each = outline.wait_times
            for longest, since in ((waits, each.waits_since), (unused, each.unused_since)):
                age = 0.0 if since is None else now - since
                longest[namespace] = max(longest.get(namespace, 0.0), age)
            blocked[namespace] = blocked.get(namespace, 0.0) + each.deletion_blocked
        for name, text, values in (
            (
                "appwrapper_longest_wait_seconds",
                "The longest time that an AppWrapper has waited for quota.",
                waits,
            ),
            (
                "appwrapper_longest_quota_without_pods_seconds",
                "The longest time that an AppWrapper has held quota without all of its pods.",
                unused,
            ),
            (
                "appwrapper_deletions_blocked",
                "AppWrappers whose deletion is blocked; they keep their quota.",
                blocked,
            ),
        ):
            yield _family(name, text, "namespace", values)


class PhaseAgeGauge(Collector):
    """The oldest AppWrapper in each phase. Reads all AppWrappers at each scrape."""

    def __init__(self, outlines: Outlines, now: Callable[[], float]) -> None:
        self._outlines = outlines
        self._now = now

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge; 0 for a phase without AppWrappers."""
        now = self._now()
        oldest = dict.fromkeys((phase.value for phase in Phase), 0.0)
        for _, each in self._outlines():
            if each.phase_since is not None:
                oldest[each.phase] = max(oldest[each.phase], now - each.phase_since)
        yield _family(
            "appwrapper_oldest_in_phase_seconds",
            "How long the AppWrapper that entered a phase first has been in this phase.",
            "phase",
            oldest,
        )


class WithoutPods:
    """Finds the AppWrappers that have held quota for a minute and of which no pod exists."""

    def __init__(
        self, outlines: Outlines, has_pods: Callable[[Key], bool], now: Callable[[], float]
    ) -> None:
        self._outlines = outlines
        self._has_pods = has_pods
        self._now = now

    def __iter__(self) -> Iterator[tuple[str, Outline, bool]]:
        """Yield each AppWrapper's namespace and outline, and whether it is one of them."""
        now = self._now()
        for key, each in self._outlines():
            since = each.wait_times.unused_since
            long = since is not None and now - since > _WITHOUT_PODS
            yield key[0], each, long and not self._has_pods(key)


class QuotaWithoutPodsGauge(Collector):
    """How many AppWrappers hold quota without any pod, by namespace."""

    def __init__(self, appwrappers: WithoutPods) -> None:
        self._appwrappers = appwrappers

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge, with a sample for each namespace."""
        held: dict[str, float] = {}
        for namespace, _, without_pods in self._appwrappers:
            held[namespace] = held.get(namespace, 0.0) + without_pods
        yield _family(
            "appwrapper_quota_held_without_pods",
            "AppWrappers that have held quota for more than a minute and have no pod.",
            "namespace",
            held,
        )


class AmountWithoutPodsGauge(Collector):
    """How much of each measured resource these AppWrappers request."""

    def __init__(self, appwrappers: WithoutPods) -> None:
        self._appwrappers = appwrappers

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge, with a sample for each resource that a namespace requests."""
        family = GaugeMetricFamily(
            "appwrapper_quota_amount_held_without_pods",
            "How much AppWrappers request that have held quota for more than a minute and have no"
            " pod.",
            labels=["namespace", "resource"],
        )
        held: dict[tuple[str, str], float] = {}
        for namespace, each, without_pods in self._appwrappers:
            for resource, amount in each.requested:
                known = held.get((namespace, resource), 0.0)
                held[namespace, resource] = known + amount * without_pods
        for labels, amount in held.items():
            family.add_metric(labels, amount)
        yield family


def _family(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


class StuckDeletionsGauge(Collector):
    """The objects whose deletion does not end, as the last search of each AppWrapper found them."""

    def __init__(self, stuck: Callable[[], Mapping[tuple[str, str], int]]) -> None:
        self._stuck = stuck

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge; no sample while nothing is stuck."""
        family = GaugeMetricFamily(
            "appwrapper_deletions_stuck",
            "Components and pods that still exist after their grace period, by the finalizer that"
            " keeps them.",
            labels=["finalizer", "kind"],
        )
        for labels, number in sorted(self._stuck().items()):
            family.add_metric(labels, number)
        yield family


class Watched(Protocol):
    """An informer, as the gauge of the watches reads it."""

    @property
    def resource(self) -> Resource:
        """The resource that the informer watches."""

    @property
    def progressed(self) -> float:
        """The monotonic time of the last answer from the API server."""


class WatchGauge(Collector):
    """The age of each watch. A resource with several informers shows the oldest."""

    def __init__(self, watched: Callable[[], Iterable[Watched]], now: Callable[[], float]) -> None:
        self._watched = watched
        self._now = now

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the gauge. A watch that ended because its Kind is unused has no sample."""
        now = self._now()
        ages: dict[str, float] = {}
        for each in self._watched():
            name = _name_of(each.resource)
            ages[name] = max(ages.get(name, 0.0), now - each.progressed)
        yield _family(
            "appwrapper_watch_age_seconds",
            "Seconds since the API server last reported on this resource: an event, a bookmark, a"
            " whole list.",
            "resource",
            ages,
        )


def _name_of(resource: Resource) -> str:
    """Return the name that kubectl takes: `pods`, `jobs.batch`."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
