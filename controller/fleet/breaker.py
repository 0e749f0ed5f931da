"""When so many nodes turn bad at once that rather the labels are wrong than the nodes. Pure.

One breaker per resource. It opens when more than `percent` % of the nodes that have the resource,
of which there must be at least `minimumNodes`, turned NoExecute within `window`, and are so still.
Time alone does not close it: from then on all count that turned since the window before it opened.
It closes when an admin confirms (those nodes count no more) or when their share has fallen.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from shared.config.fleet import EvacuationBreaker


@dataclass(frozen=True, slots=True)
class Turned:
    """A node that is NoExecute, and since when. `uid` tells it from a later one of its name."""

    uid: str
    since: datetime
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Breaker:
    """Of one resource: when it opened, None while it is closed, and the NoExecute nodes by name."""

    opened: datetime | None = None
    nodes: Mapping[str, Turned] = field(default_factory=lambda: MappingProxyType({}))


def judge(
    breaker: Breaker,
    tagged: Mapping[str, str],
    population: int,
    now: datetime,
    settings: EvacuationBreaker,
) -> Breaker:
    """The breaker, given the nodes that are NoExecute now (name → UID) and how many there are.

    A node that is not known yet turned now: after a restart that is the careful guess.
    """
    nodes = {
        name: known
        if (known := breaker.nodes.get(name)) is not None and known.uid == uid
        else Turned(uid, now)
        for name, uid in tagged.items()
    }
    seen = replace(breaker, nodes=nodes)
    # Nodes that vanish must not close it.
    enough = breaker.opened is not None or population >= settings.minimum_nodes
    too_many = len(counted(seen, now, settings)) * 100 > settings.percent * population
    return replace(seen, opened=(breaker.opened or now) if enough and too_many else None)


def counted(breaker: Breaker, now: datetime, settings: EvacuationBreaker) -> list[str]:
    """The names of the nodes that speak for a breaker that is open."""
    since = (breaker.opened or now) - settings.window
    return sorted(
        name for name, node in breaker.nodes.items() if not node.confirmed and node.since >= since
    )


def confirmed_in(recorded: Breaker, breaker: Breaker) -> list[str]:
    """The nodes of `breaker` that an admin has confirmed according to the record of them."""
    return [
        name
        for name, node in recorded.nodes.items()
        if node.confirmed
        and (known := breaker.nodes.get(name)) is not None
        and (known.uid, known.since) == (node.uid, node.since)
    ]


def confirm(breaker: Breaker, names: Collection[str]) -> Breaker:
    """An admin says that these nodes are really bad. What that means, `judge` says."""
    nodes = {
        name: replace(node, confirmed=True) if name in names else node
        for name, node in breaker.nodes.items()
    }
    return replace(breaker, nodes=nodes)
