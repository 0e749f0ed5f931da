"""Gauges of what the caches hold, computed at each scrape instead of at each change."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.facts.appwrapper_outline import Outline
from controller.facts.evacuation import Key
from controller.phases.phase import Phase
from shared.api.objects import Resource

# Label values → the value of a sample.
Samples = Mapping[tuple[str], float] | Mapping[tuple[str, str], float]
_Family = type[GaugeMetricFamily] | type[CounterMetricFamily]


class ComputedGauge(Collector):
    """A gauge, or with `family` a counter, whose samples are computed at each scrape."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        samples: Callable[[], Samples],
        family: _Family = GaugeMetricFamily,
    ) -> None:
        self._name = name
        self._text = text
        self._labels = labels
        self._samples = samples
        self._family = family

    def collect(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the gauge."""
        family = self._family(self._name, self._text, labels=self._labels)
        for labels, number in self._samples().items():
            family.add_metric(labels, number)
        yield family


# Returns each AppWrapper's namespace and name, and its outline, which holds its times.
Outlines = Callable[[], Iterable[tuple[Key, Outline]]]
_WAITING: Final = (Phase.EMPTY, Phase.SUSPENDED)  # for quota
# Seconds that an AppWrapper may hold quota without any pod: its pods are created in less.
_WITHOUT_PODS: Final = 60.0


class AppWrapperGauges(Collector):
    """Reads all AppWrappers at each scrape. A namespace without AppWrappers has no sample.

    `now`: seconds since the epoch.
    """

    def __init__(
        self, outlines: Outlines, has_pods: Callable[[Key], bool], now: Callable[[], float]
    ) -> None:
        self._outlines = outlines
        self._has_pods = has_pods
        self._now = now

    def collect(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the gauges."""
        return chain.from_iterable(each.collect() for each in self._gauges())

    def _gauges(self) -> Iterator[ComputedGauge]:
        yield ComputedGauge("appwrappers", "AppWrappers by phase, now.", ["phase"], self._by_phase)
        yield ComputedGauge(
            "appwrapper_longest_wait_seconds",
            "The longest time that an AppWrapper has waited for quota.",
            ["namespace"],
            lambda: self._longest(_waits_since),
        )
        yield ComputedGauge(
            "appwrapper_longest_quota_without_pods_seconds",
            "The longest time that an AppWrapper has held quota without all of its pods.",
            ["namespace"],
            lambda: self._longest(lambda each: each.unused_since),
        )
        yield ComputedGauge(
            "appwrapper_deletions_blocked",
            "AppWrappers whose deletion is blocked; they keep their quota.",
            ["namespace"],
            lambda: self._number(lambda _, each: each.deletion_blocked),
        )
        yield ComputedGauge(
            "appwrapper_oldest_in_phase_seconds",
            "How long the AppWrapper that entered a phase first has been in this phase.",
            ["phase"],
            self._oldest_in_phase,
        )
        yield ComputedGauge(
            "appwrapper_quota_held_without_pods",
            "AppWrappers that have held quota for more than a minute and have no pod.",
            ["namespace"],
            lambda: self._number(self._is_without_pods),
        )
        yield ComputedGauge(
            "appwrapper_quota_amount_held_without_pods",
            "How much AppWrappers request that have held quota for more than a minute and have no"
            " pod.",
            ["namespace", "resource"],
            self._amounts_without_pods,
        )

    def _by_phase(self) -> Samples:
        """An AppWrapper before its first pass has the empty phase."""
        counted = Counter(each.phase for _, each in self._outlines())
        return {(phase.value,): counted[phase.value] for phase in Phase}

    def _longest(self, since_of: Callable[[Outline], float | None]) -> Samples:
        now, longest = self._now(), dict[tuple[str], float]()
        for (namespace, _), each in self._outlines():
            since = since_of(each)
            age = 0.0 if since is None else now - since
            longest[namespace,] = max(longest.get((namespace,), 0.0), age)
        return longest

    def _number(self, counts: Callable[[Key, Outline], bool]) -> Samples:
        found = Counter[tuple[str]]()
        for key, each in self._outlines():
            found[key[0],] += counts(key, each)
        return found

    def _oldest_in_phase(self) -> Samples:
        now = self._now()
        oldest = {(phase.value,): 0.0 for phase in Phase}
        for _, each in self._outlines():
            if each.phase_since is not None:
                oldest[each.phase,] = max(oldest[each.phase,], now - each.phase_since)
        return oldest

    def _amounts_without_pods(self) -> Samples:
        found: dict[tuple[str, str], float] = {}
        for key, each in self._outlines():
            without_pods = bool(each.requested) and self._is_without_pods(key, each)
            for resource, amount in each.requested:
                known = found.get((key[0], resource), 0.0)
                found[key[0], resource] = known + amount * without_pods
        return found

    def _is_without_pods(self, key: Key, each: Outline) -> bool:
        """True if it has held quota for a minute and no pod of it exists."""
        since = each.unused_since
        long = since is not None and self._now() - since > _WITHOUT_PODS
        return long and not self._has_pods(key)


def _waits_since(each: Outline) -> float | None:
    return each.phase_since if each.phase in _WAITING and not each.deleting else None


class Watched(Protocol):
    """An informer, as the gauge of the watches reads it."""

    @property
    def resource(self) -> Resource:
        """The resource that the informer watches."""

    @property
    def progressed(self) -> float:
        """The monotonic time of the last answer from the API server."""


def watch_gauge(
    watched: Callable[[], Iterable[Watched]], now: Callable[[], float]
) -> ComputedGauge:
    """Return the gauge of the age of each watch.

    A resource with several informers shows the oldest. A watch that ended because its Kind is
    unused has no sample.
    """

    def ages() -> Samples:
        found: dict[tuple[str], float] = {}
        for each in watched():
            name = _name_of(each.resource)
            found[name,] = max(found.get((name,), 0.0), now() - each.progressed)
        return found

    return ComputedGauge(
        "appwrapper_watch_age_seconds",
        "Seconds since the API server last reported on this resource: an event, a bookmark, a"
        " whole list.",
        ["resource"],
        ages,
    )


def _name_of(resource: Resource) -> str:
    """Return the name that kubectl takes: `pods`, `jobs.batch`."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
