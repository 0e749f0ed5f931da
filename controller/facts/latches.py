"""Nodes that stay NoExecute for a time after their label is gone (`nodeHealth.latch`). Pure.

Autopilot overwrites EVICT with its next periodic check, whatever the hardware does. A tag that
outlives its label is a latch. It ends after the configured period, or when an admin's annotation on
the Node says so. The annotation holds a time and counts for labels that came before it, so one that
is left on the Node cannot hide a later label.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from controller.facts.nodes import ANNOTATION_LATCH_CLEARED, Node, Tag, Tags
from shared.api.findings import quoted
from shared.api.objects import JsonObject, JsonValue
from shared.api.times import format_precise_time, format_time, parse_time

# An admin's clock may be ahead of ours by that much.
CLOCK_SKEW: Final = timedelta(minutes=5)
# `date` cuts the fraction off: a label of the same second came before it.
_WHOLE_SECOND: Final = timedelta(seconds=1)


def clear_command(name: str) -> str:
    """What an admin types to clear the latch of a node."""
    return f"kubectl annotate node {name} --overwrite {ANNOTATION_LATCH_CLEARED}=$(date -u +%FT%TZ)"


def cleared_at(node: Node, now: datetime) -> datetime | None:
    """Up to when labels of the node were cleared. None: not at all, or the value is unusable."""
    if not node.latch_cleared:
        return None
    try:
        moment = parse_time(node.latch_cleared)
    except ValueError:
        return None
    return moment if moment <= now + CLOCK_SKEW else None


def clearing_problem(node: Node, now: datetime) -> str | None:
    """Why the annotation of the node clears nothing, and what to write instead."""
    if not node.latch_cleared or cleared_at(node, now) is not None:
        return None
    try:
        parse_time(node.latch_cleared)
        why = "lies in the future"
    except ValueError:
        why = f"is not a time such as {format_time(now)}"
    told = f"annotation {ANNOTATION_LATCH_CLEARED}: {quoted(node.latch_cleared)} {why}"
    return f"{told}, so it clears no latch: {clear_command(node.name)}"


def counts_still(tag: Tag, node: Node, period: timedelta, now: datetime) -> bool:
    """True if the label was there when it was last seen, or the node is latched since it went."""
    if tag.gone is None:
        return True
    cleared = cleared_at(node, now)
    if tag.doubted or (cleared is not None and tag.since < cleared + _WHOLE_SECOND):
        return False
    return now < tag.gone + period


def tags_now(
    node: Node, labels: Mapping[str, str], before: Tags, period: timedelta, now: datetime
) -> dict[str, Tag]:
    """The tags of a node whose `labels` say NoExecute (`key=value`, by the name of the resource).

    `before` are those of the same node until now. A tag whose label is still there, or is there
    again while the node is latched, keeps the moment at which it came.
    """
    # A clock that was set back must not make a latch longer.
    tags = {
        resource: replace(tag, gone=min(tag.gone or now, now))
        for resource, tag in before.items()
        if resource not in labels
    }
    for resource, label in labels.items():
        known = before.get(resource)
        if known is None or not counts_still(known, node, period, now):
            tags[resource] = Tag(label, now)
        else:
            tags[resource] = replace(known, label=label, gone=None)
    return {resource: tag for resource, tag in tags.items() if counts_still(tag, node, period, now)}


# The tags as the text that stands in ConfigMap `appwrapper-node-health`.
#
# A tag is written down when its label comes: the label may go while no controller runs.

LATCHES_KEY: Final = "latches"


class BadLatches(ValueError):
    """The text is none of ours."""


@dataclass(frozen=True, slots=True)
class RecordedTag:
    """A tag of the node with this UID. A later node of the same name has another."""

    uid: str
    tag: Tag


Recorded = Mapping[str, Mapping[str, RecordedTag]]  # by the names of resource and node


def merged(recorded: Tag, known: Tag | None) -> Tag:
    """What is known of a tag that was written down before this process began."""
    if known is None:
        return recorded
    since = min(recorded.since, known.since)
    return replace(known, since=since, doubted=known.doubted or recorded.doubted)


def encode_latches(nodes: Iterable[tuple[Node, Tags]]) -> str:
    """Empty where there is nothing to remember."""
    record: dict[str, JsonObject] = {}
    for node, tags in nodes:
        for resource, tag in tags.items():
            record.setdefault(resource, {})[node.name] = _encode_one(node.uid, tag)
    return json.dumps(record, indent=1, sort_keys=True) if record else ""


def decode_latches(text: str) -> dict[str, dict[str, RecordedTag]]:
    """Raises BadLatches."""
    if not text:
        return {}
    try:
        return {
            resource: {name: _decode_one(one) for name, one in nodes.items()}
            for resource, nodes in json.loads(text).items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadLatches(f"{type(error).__name__}: {error}") from error


def _encode_one(uid: str, tag: Tag) -> JsonObject:
    told: JsonObject = {
        "uid": uid,
        "label": tag.label,
        "since": format_precise_time(tag.since),
    }
    if tag.gone is not None:
        told["goneAt"] = format_precise_time(tag.gone)
    return told | {"doubted": True} if tag.doubted else told


def _decode_one(one: JsonValue) -> RecordedTag:
    gone = one.get("goneAt")
    tag = Tag(
        label=str(one["label"]),
        since=parse_time(one["since"]),
        gone=parse_time(gone) if gone else None,
        doubted=one.get("doubted") is True,
    )
    return RecordedTag(str(one["uid"]), tag)
