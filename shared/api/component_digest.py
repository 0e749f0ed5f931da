"""A fingerprint of what a user asked for in one component.

Webhooks and Kueue add to components what no file of the user's has. So the fingerprint of each is
taken as it is submitted, and tells later whether the same file has come again.
"""

import hashlib
from typing import Final

import orjson

from shared.api.json import JsonObject, JsonValue

# Only what has one of these can need another spelling: a key without value, or a whole number
# written as a fraction or with an exponent (`1e+16`, or `1e16` in other releases of the encoder).
# A text that looks so costs time, no more.
_NEEDS_CARE: Final = (b'":null', b".0,", b".0}", b".0]", orjson.dumps(1e16)[1:3])
_INTEGERS: Final = range(-(2**63), 2**64)  # what the encoder takes


def component_digest(component: JsonObject) -> str | None:
    """SHA-256, in hex, of template and podSets of an element of spec.components.

    Of pod sets only path and replicas count. The order of keys does not matter; keys with null are
    as good as absent, since merge patches drop them; 1.0 is 1, but true is not. None when the
    component is nested too deep to be encoded.
    """
    asked = {"template": component.get("template"), "podSets": _pod_sets(component.get("podSets"))}
    try:
        encoded = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return None
    if any(mark in encoded for mark in _NEEDS_CARE):
        encoded = orjson.dumps(_canonical(asked), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(encoded).hexdigest()


def _pod_sets(declared: JsonValue) -> JsonValue:
    """Each as [path, replicas]; what is malformed stays as it is, for validation to refuse."""
    if not declared:
        return []
    if not isinstance(declared, list):
        return declared
    return [
        [entry.get("path"), 1 if entry.get("replicas") is None else entry["replicas"]]
        if isinstance(entry, dict)
        else entry
        for entry in declared
    ]


def _canonical(value: JsonValue) -> JsonValue:
    """`value` in the one spelling that equal values share. At most as deep as the encoder goes."""
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if isinstance(value, float) and value.is_integer() and int(value) in _INTEGERS:
        return int(value)
    return value
