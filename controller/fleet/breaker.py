"""The evacuation breaker: so many nodes turn bad at once that the labels may be wrong. Pure.

Each resource has a breaker, and UNREACHABLE is one of all nodes. At least `minimumNodes` nodes must
have the resource. The breaker opens when more than `percent` % of them turned NoExecute or
unreachable within `window` and still are. Once it is open, all nodes count that turned since the
beginning of that window, so time alone does not close it. It closes when an admin confirms the
nodes, or when their share falls. Nodes that turned until the confirmation no longer count.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from controller.facts.latched_nodes import LATCHES_KEY
from shared.api.objects import JsonObject, JsonValue
from shared.api.times import format_precise_time, parse_time
from shared.config.fault_tolerance import EvacuationBreaker

Turned = Mapping[str, datetime]  # the NoExecute and unreachable nodes, and since when


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker of one resource.

    `opened`: None while closed. `confirmed`: when an admin confirmed the nodes that had turned;
    None if none of these nodes is NoExecute any more.
    """

    opened: datetime | None = None
    confirmed: datetime | None = None


def judge(
    breaker: Breaker, turned: Turned, population: int, now: datetime, settings: EvacuationBreaker
) -> Breaker:
    """Return the breaker after the current state of the nodes.

    `population`: the number of nodes with the resource.
    """
    known = breaker
    # After the clock was set back, an open breaker stays open, and a confirmation must not cover
    # nodes that turn from now on.
    if known.opened and known.opened > now:
        known = replace(known, opened=now)
    if known.confirmed and known.confirmed > now:
        known = replace(known, confirmed=now - datetime.resolution)
    if not _confirmed_nodes(known, turned):
        known = replace(known, confirmed=None)
    # Deleted nodes must not close the breaker.
    enough = known.opened is not None or population >= settings.minimum_nodes
    opens = enough and _too_many(counted(known, turned, now, settings), population, settings)
    return replace(known, opened=(known.opened or now) if opens else None)


def to_record(
    breaker: Breaker, turned: Turned, population: int, settings: EvacuationBreaker
) -> Breaker:
    """Return the breaker as the next process must know it.

    That process may take all nodes that it finds for confirmed. So a confirmation is recorded only
    if the confirmed nodes alone would open the breaker.
    """
    if _too_many(_confirmed_nodes(breaker, turned), population, settings):
        return breaker
    return replace(breaker, confirmed=None)


def after_restart(recorded: Breaker, listed: datetime, *, times_recorded: bool) -> Breaker:
    """Return the breaker with which a process begins that listed the nodes at `listed`.

    `times_recorded`: a record shows since when nodes are NoExecute. Without it nothing shows which
    nodes are confirmed. So all nodes that were listed count as confirmed, if any confirmation is
    recorded and the breaker was closed. A confirmation in the future, by another clock, does not
    count.
    """
    if recorded.confirmed and recorded.confirmed > listed:
        return replace(recorded, confirmed=None)
    if recorded.confirmed is None or recorded.opened or times_recorded:
        return recorded
    return replace(recorded, confirmed=listed)


def counted(
    breaker: Breaker, turned: Turned, now: datetime, settings: EvacuationBreaker
) -> list[str]:
    """Return the names of the nodes that keep the breaker open, or count towards opening it."""
    first = counts_from(breaker, now, settings)
    unconfirmed = turned.keys() - _confirmed_nodes(breaker, turned)
    return sorted(name for name in unconfirmed if turned[name] >= first)


def _confirmed_nodes(breaker: Breaker, turned: Turned) -> list[str]:
    return [
        name for name, since in turned.items() if breaker.confirmed and since <= breaker.confirmed
    ]


def _too_many(nodes: Collection[str], population: int, settings: EvacuationBreaker) -> bool:
    return len(nodes) * 100 > settings.percent * population


def counts_from(breaker: Breaker, now: datetime, settings: EvacuationBreaker) -> datetime:
    """Return the beginning of the window: nodes that turned before it do not count."""
    return (breaker.opened or now) - settings.window


# The breakers as text in ConfigMap `appwrapper-node-health`.
#
# The text is readable JSON: for each resource, when its breaker opened, and the time of the last
# confirmation. Versions until November 2026 recorded each node and its confirmation in `noExecute`,
# and reject a record without this key.

Breakers = Mapping[str, Breaker]  # by the name of the resource


class BadRecord(ValueError):
    """The text is not a record that the controller wrote."""


def encode(breakers: Breakers) -> str:
    """Return the record as JSON, without breakers that are closed and not confirmed."""
    record = {
        resource: {
            "noExecute": {},
            **({"openedAt": format_precise_time(one.opened)} if one.opened else {}),
            **({"confirmedAt": format_precise_time(one.confirmed)} if one.confirmed else {}),
        }
        for resource, one in breakers.items()
        if one.opened or one.confirmed
    }
    return json.dumps(record, indent=1, sort_keys=True)


def decode(text: str) -> dict[str, Breaker]:
    """Read a record. Raises BadRecord."""
    try:
        return {resource: _decode_one(one) for resource, one in json.loads(text).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def _decode_one(one: JsonValue) -> Breaker:
    """Read one breaker. A confirmation of single nodes by an earlier version does not count."""
    opened, confirmed = one.get("openedAt"), one.get("confirmedAt")
    return Breaker(
        parse_time(opened) if opened else None, parse_time(confirmed) if confirmed else None
    )


# ConfigMap `appwrapper-node-health` in the operator's namespace.

RECORD_NAME: Final = "appwrapper-node-health"
RECORD_KEY: Final = "evacuationBreakers"
# An admin confirms with it that nodes really are bad; the value lists resources with commas.
ANNOTATION_CONFIRM: Final = "workload.codeflare.dev/confirm-evacuations"


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """The ConfigMap. `record` and `latches` are empty before the first write; `confirmed` is None
    without the annotation.
    """

    uid: str
    version: str
    record: str
    confirmed: str | None
    latches: str = ""

    @classmethod
    def of(cls, item: JsonObject) -> "HealthRecord":
        metadata, data = item["metadata"], item.get("data") or {}
        return cls(
            uid=metadata["uid"],
            version=metadata["resourceVersion"],
            record=data.get(RECORD_KEY, ""),
            confirmed=(metadata.get("annotations") or {}).get(ANNOTATION_CONFIRM),
            latches=data.get(LATCHES_KEY, ""),
        )

    @property
    def confirmed_resources(self) -> list[str]:
        """The resources of the annotation without duplicates, in their order."""
        names = [name.strip() for name in (self.confirmed or "").split(",")]
        return [name for name in dict.fromkeys(names) if name]

    def patch(self, record: str, latches: str = "") -> JsonObject:
        """Return a merge patch for exactly this version; it removes a processed annotation."""
        changed = {} if latches == self.latches else {LATCHES_KEY: latches or None}
        heard = {} if self.confirmed is None else {"annotations": {ANNOTATION_CONFIRM: None}}
        return {
            "metadata": {"uid": self.uid, "resourceVersion": self.version, **heard},
            "data": {RECORD_KEY: record, **changed},
        }
