"""When so many nodes turn bad at once that rather the labels are wrong than the nodes. Pure.

One breaker per resource. It opens when more than `percent` % of the nodes that have the resource,
of which there must be at least `minimumNodes`, turned NoExecute within `window`, and are so still.
Time alone does not close it: from then on all count that turned since the window before it opened.
It closes when an admin confirms (those nodes count no more) or when their share has fallen.
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


# The breakers as the text that stands in ConfigMap `appwrapper-node-health`.
#
# JSON, so that people can read it: per resource when its breaker opened, and since when which
# nodes are NoExecute.

Breakers = Mapping[str, Breaker]  # by the name of the resource


class BadRecord(ValueError):
    """The text is none of ours."""


def encode(breakers: Breakers) -> str:
    """Resources of which there is nothing to tell are left out."""
    record = {
        resource: _encode_one(breaker)
        for resource, breaker in breakers.items()
        if breaker.nodes or breaker.opened
    }
    return json.dumps(record, indent=1, sort_keys=True)


def decode(text: str) -> dict[str, Breaker]:
    """Raises BadRecord."""
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


# ConfigMap `appwrapper-node-health` of the operator's namespace, as far as breakers use it.

RECORD_NAME: Final = "appwrapper-node-health"
RECORD_KEY: Final = "evacuationBreakers"
# Names the resources, separated by commas, of which an admin says: their nodes really are bad.
ANNOTATION_CONFIRM: Final = "workload.codeflare.dev/confirm-evacuations"


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """`record` and `latches` are empty where nothing was written yet; `confirmed` is None without
    the annotation.
    """

    uid: str
    version: str
    record: str
    confirmed: str | None
    latches: str = ""

    @classmethod
    def of(cls, item: JsonObject) -> "HealthRecord":
        """From the ConfigMap."""
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
        """Each once, in the order in which they are written."""
        names = [name.strip() for name in (self.confirmed or "").split(",")]
        return [name for name in dict.fromkeys(names) if name]

    def patch(self, record: str, latches: str = "") -> JsonObject:
        """A merge patch over exactly this version; the annotation, if any, has been heard."""
        changed = {} if latches == self.latches else {LATCHES_KEY: latches or None}
        heard = {} if self.confirmed is None else {"annotations": {ANNOTATION_CONFIRM: None}}
        return {
            "metadata": {"uid": self.uid, "resourceVersion": self.version, **heard},
            "data": {RECORD_KEY: record, **changed},
        }
