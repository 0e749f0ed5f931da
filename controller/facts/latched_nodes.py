"""Nodes that stay NoExecute for a time after their label is gone (`nodeHealth.latch`). Pure.

Autopilot's next periodic check overwrites EVICT, even if the hardware is still bad. A tag that
outlives its label is a latch. The latch ends after the configured period, or when an admin clears
it by an annotation on the Node. The annotation is a time and clears only labels that came before
it, so an old annotation cannot hide a later label.
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

# An admin's clock may be this much ahead of the controller's.
CLOCK_SKEW: Final = timedelta(minutes=5)
# `date` omits the fraction: an annotation clears labels of the same second too.
_WHOLE_SECOND: Final = timedelta(seconds=1)


def clear_command(name: str) -> str:
    """Return the command that clears the latch of a node, for admins."""
    return f"kubectl annotate node {name} --overwrite {ANNOTATION_LATCH_CLEARED}=$(date -u +%FT%TZ)"


def cleared_at(node: Node, now: datetime) -> datetime | None:
    """Return the time before which labels are cleared; None if unset or unusable."""
    if not node.latch_cleared:
        return None
    try:
        moment = parse_time(node.latch_cleared)
    except ValueError:
        return None
    return moment if moment <= now + CLOCK_SKEW else None


def clearing_problem(node: Node, now: datetime) -> str | None:
    """Return why the node's annotation clears nothing, with a fix; None if it is unset or valid."""
    if not node.latch_cleared or cleared_at(node, now) is not None:
        return None
    try:
        parse_time(node.latch_cleared)
        why = "lies in the future"
    except ValueError:
        why = f"is not a time such as {format_time(now)}"
    problem = f"annotation {ANNOTATION_LATCH_CLEARED}: {quoted(node.latch_cleared)} {why}"
    return f"{problem}, so it clears no latch: {clear_command(node.name)}"


def counts_still(tag: Tag, node: Node, period: timedelta, now: datetime) -> bool:
    """True if the node has the label as last seen, or is latched after losing it."""
    if tag.gone is None:
        return True
    cleared = cleared_at(node, now)
    if cleared is not None and tag.since < cleared + _WHOLE_SECOND:
        return False
    return now < tag.gone + period


def tags_now(
    node: Node, labels: Mapping[str, str], before: Tags, period: timedelta, now: datetime
) -> dict[str, Tag]:
    """Return the tags of a node with these NoExecute `labels` (`key=value` by resource name).

    `before`: the node's tags until now. A tag keeps its first time if its label is still there, or
    reappears while the node is latched.
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


# The tags as text, for ConfigMap `appwrapper-node-health`.
#
# The controller writes a tag when its label appears: the label may go while no controller runs.

LATCHES_KEY: Final = "latches"


class BadLatches(ValueError):
    """The text does not have the controller's format."""


@dataclass(frozen=True, slots=True)
class RecordedTag:
    """A tag of the node with this UID. A later node of the same name has another UID."""

    uid: str
    tag: Tag


RecordedTags = Mapping[str, Mapping[str, RecordedTag]]  # by the names of resource and node


def merged(recorded: Tag, known: Tag | None) -> Tag:
    """Combine a tag that an earlier process recorded with the tag known now."""
    if known is None:
        return recorded
    return replace(known, since=min(recorded.since, known.since))


def encode_latches(nodes: Iterable[tuple[Node, Tags]]) -> str:
    """Return the tags as JSON text; empty without tags."""
    record: dict[str, JsonObject] = {}
    for node, tags in nodes:
        for resource, tag in tags.items():
            record.setdefault(resource, {})[node.name] = _encode_one(node.uid, tag)
    return json.dumps(record, indent=1, sort_keys=True) if record else ""


def decode_latches(text: str) -> dict[str, dict[str, RecordedTag]]:
    """Return the tags by resource and node. Raise BadLatches."""
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
    written: JsonObject = {
        "uid": uid,
        "label": tag.label,
        "since": format_precise_time(tag.since),
    }
    if tag.gone is not None:
        written["goneAt"] = format_precise_time(tag.gone)
    return written


def _decode_one(one: JsonValue) -> RecordedTag:
    gone = one.get("goneAt")
    tag = Tag(
        label=str(one["label"]),
        since=parse_time(one["since"]),
        gone=parse_time(gone) if gone else None,
    )
    return RecordedTag(str(one["uid"]), tag)
