"""A fingerprint of one component as its user submitted it.

Webhooks and Kueue add fields that no file of the user holds. The webhook therefore stores the
fingerprint at submission, to recognise the same file later.
"""

import hashlib
from typing import Final

import orjson

from shared.api.objects import JsonObject, JsonValue

# Only JSON with one of these marks can need another spelling: a key with null, or a whole number
# written as a fraction or with an exponent (`1e+16`, or `1e16` in other releases of the encoder). A
# string with such a mark costs time, no more.
_NEEDS_CARE: Final = (b'":null', b".0,", b".0}", b".0]", orjson.dumps(1e16)[1:3])
_INTEGERS: Final = range(-(2**63), 2**64)  # the encoder's range


def component_digest(component: JsonObject) -> str:
    """Return the SHA-256, in hex, of template and podSets of an element of spec.components.

    Only path and replicas of a pod set count. The order of keys does not matter. A key with null
    equals an absent key, since merge patches drop it; 1.0 equals 1, true does not. The component
    must not be nested too deep for the encoder.
    """
    asked = {
        "template": component.get("template"),
        "podSets": counted_pod_sets(component.get("podSets")),
    }
    encoded = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    if any(mark in encoded for mark in _NEEDS_CARE):
        encoded = orjson.dumps(_canonical(asked), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(encoded).hexdigest()


def counted_pod_sets(declared: JsonValue) -> JsonValue:
    """Return each as [path, replicas]; leave malformed entries as they are, for validation.

    Kueue counts by nothing else.
    """
    if not declared:
        return []
    if not isinstance(declared, list):
        return declared
    return [
        [entry.get("path"), replicas_of(entry)] if isinstance(entry, dict) else entry
        for entry in declared
    ]


def replicas_of(pod_set: JsonObject) -> JsonValue:
    """Return the replicas. Absent and null mean 1: Kueue may write either."""
    replicas = pod_set.get("replicas")
    return 1 if replicas is None else replicas


def _canonical(value: JsonValue) -> JsonValue:
    """Return the one spelling that equal values share. The encoder limits the depth."""
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if isinstance(value, float) and value.is_integer() and int(value) in _INTEGERS:
        return int(value)
    return value
