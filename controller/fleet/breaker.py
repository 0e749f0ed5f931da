"""The evacuation breaker: so many nodes turn bad at once that the labels may be wrong. Pure.

Each resource has a breaker. At least `minimumNodes` nodes must have the resource. The breaker opens
when more than `percent` % of them turned NoExecute within `window` and still are. Once it is open,
all nodes count that turned since the beginning of that window, so time alone does not close it. It
closes when an admin confirms the nodes, which then no longer count, or when their share falls.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from controller.facts.latches import LATCHES_KEY
from shared.api.objects import JsonObject, JsonValue
from shared.api.times import format_precise_time, parse_time
from shared.config.fault_tolerance import EvacuationBreaker


@dataclass(frozen=True, slots=True)
class Turned:
    """A NoExecute node. `uid` distinguishes it from a later node of the same name."""

    uid: str
    since: datetime
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker of one resource. `opened`: None while closed. `nodes`: NoExecute, by name."""

    opened: datetime | None = None
    nodes: Mapping[str, Turned] = field(default_factory=lambda: MappingProxyType({}))


def judge(
    breaker: Breaker,
    tagged: Mapping[str, str],
    population: int,
    now: datetime,
    settings: EvacuationBreaker,
) -> Breaker:
    """Return the breaker after the current state of the nodes.

    `tagged`: the NoExecute nodes, name → UID. `population`: the number of nodes with the resource.
    A new NoExecute node counts as having turned now, which after a restart is the safe assumption.
    """
    nodes = {
        name: known
        if (known := breaker.nodes.get(name)) is not None and known.uid == uid
        else Turned(uid, now)
        for name, uid in tagged.items()
    }
    seen = replace(breaker, nodes=nodes)
    # Deleted nodes must not close the breaker.
    enough = breaker.opened is not None or population >= settings.minimum_nodes
    too_many = len(counted(seen, now, settings)) * 100 > settings.percent * population
    return replace(seen, opened=(breaker.opened or now) if enough and too_many else None)


def counted(breaker: Breaker, now: datetime, settings: EvacuationBreaker) -> list[str]:
    """Return the names of the nodes that keep the breaker open, or count towards opening it."""
    since = (breaker.opened or now) - settings.window
    return sorted(
        name for name, node in breaker.nodes.items() if not node.confirmed and node.since >= since
    )


def confirmed_in(recorded: Breaker, breaker: Breaker) -> list[str]:
    """Return the nodes of `breaker` that are confirmed in the record."""
    return [
        name
        for name, node in recorded.nodes.items()
        if node.confirmed
        and (known := breaker.nodes.get(name)) is not None
        and (known.uid, known.since) == (node.uid, node.since)
    ]


def confirm(breaker: Breaker, names: Collection[str]) -> Breaker:
    """Mark the nodes as confirmed by an admin; `judge` then no longer counts them."""
    nodes = {
        name: replace(node, confirmed=True) if name in names else node
        for name, node in breaker.nodes.items()
    }
    return replace(breaker, nodes=nodes)


# The breakers as text in ConfigMap `appwrapper-node-health`.
#
# The text is readable JSON: for each resource, when its breaker opened, and its NoExecute nodes
# with the times at which they turned.

Breakers = Mapping[str, Breaker]  # by the name of the resource


class BadRecord(ValueError):
    """The text is not a record that the controller wrote."""


def encode(breakers: Breakers) -> str:
    """Return the record as JSON, without resources whose breaker is closed and has no nodes."""
    record = {
        resource: _encode_one(breaker)
        for resource, breaker in breakers.items()
        if breaker.nodes or breaker.opened
    }
    return json.dumps(record, indent=1, sort_keys=True)


def decode(text: str) -> dict[str, Breaker]:
    """Read a record. Raises BadRecord."""
    try:
        return {resource: _decode_one(one) for resource, one in json.loads(text).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def _encode_one(breaker: Breaker) -> JsonObject:
    opened = {"openedAt": format_precise_time(breaker.opened)} if breaker.opened else {}
    return opened | {
        "noExecute": {name: _encode_node(node) for name, node in breaker.nodes.items()}
    }


def _encode_node(node: Turned) -> JsonObject:
    told: JsonObject = {"uid": node.uid, "since": format_precise_time(node.since)}
    return told | {"confirmed": True} if node.confirmed else told


def _decode_one(one: JsonValue) -> Breaker:
    opened = one.get("openedAt")
    return Breaker(
        parse_time(opened) if opened else None,
        {name: _decode_node(node) for name, node in one["noExecute"].items()},
    )


def _decode_node(node: JsonValue) -> Turned:
    return Turned(str(node["uid"]), parse_time(node["since"]), node.get("confirmed") is True)


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
