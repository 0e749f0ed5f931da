"""Faults of the API server, of the network, and of processes, each a pick among options.

A family of faults is asked at each request, watch or event. Option 0 of each is no fault.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from shared.kube.client import KubeError, Unreachable
from shared.kube.responses import api_error
from tests.simulation.cluster import Cluster

T = TypeVar("T")

WRITE_FAULTS: Final = (
    "none",
    "crash before",
    "crash after",
    "lost answer",
    "429",
    "500",
    "409",
    "late 2",
    "late 6",
    "late 15",
    "late next",
    "ghost 6",
    "ghost 40",
    "ghost next",
    "freeze 20",
    "freeze 90",
    "then annotate",
    "then suspend",
    "then delete pod",
    "then delete component",
    "then delete",
)
"""Late: the sender crashes, and its write takes effect seconds later. Ghost: the sender gets a
timeout, and the write takes effect later. Next: it takes effect just before the next write of the
same kind arrives: the worst moment. Freeze: the sender stops and continues later. Then: the write
takes effect, another client acts on the same AppWrapper at once (`Acts.do_after`), and the answer
comes after the events of both.
"""
OTHER_CLIENTS: Final = frozenset(each for each in WRITE_FAULTS if each.startswith("then "))
READ_FAULTS: Final = ("none", "crash before", "lost answer", "429", "500", "freeze 20")
WATCH_FAULTS: Final = ("none", "cut 3", "cut 20", "silent", "410", "500")
"""Silent: the connection is dead, but only its overdue end shows that."""
EVENT_DELAYS: Final = (0.0, 0.5, 6.0, 40.0)
LATENCIES: Final = (0.001, 0.02, 0.3, 4.0)

FAMILIES: Final[Mapping[str, Sequence[Any]]] = {
    "write": WRITE_FAULTS,
    "read": READ_FAULTS,
    "watch": WATCH_FAULTS,
    "event": EVENT_DELAYS,
    "latency": LATENCIES,
}
_NEVER: Final = {family: (1.0, *[0.0] * (len(each) - 1)) for family, each in FAMILIES.items()}


_CODES: Final = ("409", "410", "429", "500")


def odds(family: str, rate: float, **weights: float) -> tuple[float, ...]:
    """Return odds in which any fault of a family has the probability `rate` together.

    `weights` of single faults, by name with `_` for a space, are relative to the others' 1. Other
    clients act only if they are named.
    """
    faults = FAMILIES[family][1:]
    relative = [
        weights.get(str(each).replace(" ", "_"), float(each not in OTHER_CLIENTS))
        for each in faults
    ]
    return (1.0 - rate, *(rate * each / sum(relative) for each in relative))


class Faults:
    """Inject faults into the requests of all clients until the time `until`.

    `families` limits what may happen. In random runs `odds` are the weights by family; without any,
    a family does nothing. `crash` and `freeze` act on a process by name; `Processes` sets them.
    `other_client` acts on the AppWrapper that the written object belongs to; `World` sets it.
    `over_at`: the end of the last fault's effect, which lasts for the seconds in its name, if any.
    `is_overtaken`: True after a request whose answer comes after another client's act.
    `is_landing`: True while a write takes effect whose sender crashed, or gave up, before.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        until: float = 0.0,
        families: Sequence[str] = tuple(FAMILIES),
        odds: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        self.until = until
        self.injected: Counter[str] = Counter()
        self.over_at = 0.0
        self.is_landing = False
        self.is_overtaken = False
        self.crash: Callable[[str, str], None] = _no_processes
        self.freeze: Callable[[str, float], None] = _no_processes
        self.other_client: Callable[[str, Any], None] = lambda what, written: None
        self._cluster = cluster
        self._families = frozenset(families)
        self._odds = {**_NEVER, **(odds or {})}
        self._away_until = 0.0

    def outage(self, seconds: float) -> None:
        """Make the API server unreachable for a while, and cut all watches."""
        self.count("outage")
        self._cluster.tell(f"the API server is away for {seconds:g} s")
        self._away_until = self._cluster.loop.now + seconds
        self._cluster.watches.cut()

    def latency(self) -> float:
        """Return the seconds that a request needs to the server."""
        return self._pick("latency", "", LATENCIES)

    def event_delay(self, plural: str) -> float:
        """Return the seconds by which an event comes later than usual."""
        return self._pick("event", plural, EVENT_DELAYS)

    def watch_fault(self, plural: str) -> str:
        """Return the fault of a new watch. Raise KubeError if it cannot begin."""
        self._check_reachable()
        fault = self._pick("watch", plural, WATCH_FAULTS)
        if fault == "410":
            raise api_error(410, "Expired", "too old resource version (fault)")
        if fault == "500":
            raise api_error(500, "InternalError", "etcdserver: leader changed (fault)")
        return fault

    def arrive(
        self, process: str, place: str, act: Callable[[], T], *, write: bool
    ) -> T | KubeError | None:
        """Carry out a request that arrives at the server, with its fault.

        Return the answer or the error that its sender gets; None if it gets nothing. A request
        without a place has no fault and is not in the trace.
        """
        self.is_overtaken = False
        try:
            self._check_reachable()
        except Unreachable as error:
            return error
        family = "write" if write else "read"
        fault = self._pick(family, place, FAMILIES[family]) if place else "none"
        for late in self._cluster.postponed.pop(place, ()):
            self.land(late)
        attempt = _Attempt(self._cluster, process if write and place else None, place, act)
        if fault == "none":
            return attempt.result()
        self._cluster.tell(f"fault {fault}: {process} {place}")
        if fault not in OTHER_CLIENTS:
            return self._with_fault(fault, process, attempt)
        self.is_overtaken = True
        result = attempt.result()
        if not isinstance(result, KubeError):
            self.other_client(fault.removeprefix("then "), result)
        return result

    def land(self, act: Callable[[], T]) -> T:
        """Carry out a request whose sender no longer waits for it."""
        self.is_landing = True
        try:
            return act()
        finally:
            self.is_landing = False

    def count(self, fault: str) -> None:
        """Count an injected fault. The last word of its name may be the seconds that it lasts."""
        self.injected[fault] += 1
        if fault.removeprefix("write ") in OTHER_CLIENTS:
            return  # it excuses nothing
        lasts = fault.rpartition(" ")[2]
        seconds = 0.0 if lasts in _CODES or not lasts.replace(".", "").isdigit() else float(lasts)
        self.over_at = max(self.over_at, self._cluster.loop.now + seconds)

    def _with_fault(self, fault: str, process: str, attempt: "_Attempt[T]") -> T | KubeError | None:
        match fault.split():
            case ["crash", when]:
                if when == "after":
                    attempt.result()
                self.crash(process, f"{when} {attempt.place}")
                return None
            case ["late", seconds]:
                self._postpone(seconds, attempt)
                self.crash(process, f"while {attempt.place} is on its way")
                return None
            case ["ghost", seconds]:
                self._postpone(seconds, attempt)
                return Unreachable("the request timed out (fault)")
            case ["freeze", seconds]:
                result = attempt.result()
                self.freeze(process, float(seconds))
                return result
            case ["lost", _]:
                attempt.result()
                return Unreachable("the answer is lost (fault)")
            case ["429"]:
                return api_error(429, "TooManyRequests", "busy (fault)", 1.0)
            case ["409"] if not attempt.place.startswith("DELETE"):  # only of another UID
                return api_error(409, "Conflict", "the object has been modified (fault)")
            case _:
                return api_error(500, "InternalError", "etcdserver: request timed out (fault)")

    def _postpone(self, how_long: str, attempt: "_Attempt[T]") -> None:
        if how_long == "next":
            self._cluster.postponed.setdefault(attempt.place, []).append(attempt.result)
        else:
            self._cluster.loop.outside(float(how_long), self.land, attempt.result)

    def _check_reachable(self) -> None:
        if self._cluster.loop.now < self._away_until:
            raise Unreachable("connection refused (outage)")

    def _pick(self, family: str, place: str, options: Sequence[T]) -> T:
        if self._cluster.loop.now >= self.until or family not in self._families:
            return options[0]
        name = f"{family} {place}" if place else family
        chosen = self._cluster.choices.pick(name, options, self._odds[family])
        if chosen != options[0]:
            self.count(f"{family} {chosen}")
        return chosen


class _Attempt(Generic[T]):
    """One execution of a request at the server. `process`: the sender of a write, for the trace."""

    def __init__(
        self, cluster: Cluster, process: str | None, place: str, act: Callable[[], T]
    ) -> None:
        self.place = place
        self._cluster = cluster
        self._process = process
        self._act = act

    def result(self) -> T | KubeError:
        """Carry the request out now, and return its answer or its error."""
        try:
            answer = self._act()
        except KubeError as error:
            if self._process is not None:
                self._cluster.tell(f"{self._process} {self.place} -> {error}")
            return error
        if self._process is not None:
            self._cluster.tell(f"{self._process} {self.place}")
        return answer


def _no_processes(process: str, what: object) -> None:
    raise LookupError(f"no Processes to do this to {process}: {what}")
