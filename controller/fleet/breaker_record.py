"""The breakers as the text that stands in ConfigMap `appwrapper-node-health`. Pure.

JSON, so that people can read it: per resource when its breaker opened, and since when which nodes
are NoExecute.
"""

import json
from collections.abc import Mapping

from controller.fleet.breaker import Breaker, Turned
from shared.api.json import JsonObject, JsonValue
from shared.api.times import format_precise_time, parse_time

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
