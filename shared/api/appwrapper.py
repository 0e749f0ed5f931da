"""A typed view of one AppWrapper, over its decoded JSON.

Reads only. Absent fields get the meaning that the API gives them: `suspend` absent is false.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

import orjson

from shared.api.names import CONTROLLER_NAME, FINALIZER, LABEL_QUEUE_NAME
from shared.api.objects import JsonObject, JsonValue

# A fingerprint of what a user asked for in one component.
#
# Webhooks and Kueue add to components what no file of the user's has. So the fingerprint of each
# is taken as it is submitted, and tells later whether the same file has come again.

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


@dataclass(frozen=True, slots=True)
class AppWrapper:
    """`raw` is shared with caches: never change it."""

    raw: JsonObject

    @property
    def metadata(self) -> JsonObject:
        """As stored."""
        metadata: JsonObject = self.raw["metadata"]
        return metadata

    @property
    def namespace(self) -> str:
        """Never empty in an object that the API server returned."""
        return str(self.metadata["namespace"])

    @property
    def name(self) -> str:
        """Also the value of the label on its components and pods."""
        return str(self.metadata["name"])

    @property
    def uid(self) -> str:
        """Tells it from an earlier AppWrapper of the same name."""
        return str(self.metadata["uid"])

    @property
    def resource_version(self) -> str:
        """Opaque; goes back with every update."""
        return str(self.metadata["resourceVersion"])

    @property
    def labels(self) -> dict[str, str]:
        """May be empty."""
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        """May be empty."""
        return self.metadata.get("annotations") or {}

    @property
    def finalizers(self) -> list[str]:
        """May be empty."""
        return self.metadata.get("finalizers") or []

    @property
    def has_our_finalizer(self) -> bool:
        """It cannot vanish before we let it go."""
        return FINALIZER in self.finalizers

    @property
    def deletion_requested(self) -> bool:
        """Somebody deleted it; finalizers keep it."""
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def spec(self) -> JsonObject:
        """As stored."""
        return self.raw.get("spec") or {}

    @property
    def suspend(self) -> bool:
        """Kueue removes the field rather than writing false."""
        return bool(self.spec.get("suspend"))

    @property
    def is_ours(self) -> bool:
        """`managedBy` is absent or names this controller."""
        return self.spec.get("managedBy") in (None, "", CONTROLLER_NAME)

    @property
    def queue_name(self) -> str:
        """The LocalQueue it waits in; empty means none."""
        return self.labels.get(LABEL_QUEUE_NAME, "")

    @property
    def components(self) -> list[JsonObject]:
        """`spec.components`, in the order of creation."""
        return self.spec.get("components") or []

    @property
    def status(self) -> JsonObject:
        """Empty before the first status write."""
        return self.raw.get("status") or {}

    @property
    def conditions(self) -> list[JsonObject]:
        """`status.conditions`."""
        return self.status.get("conditions") or []

    @property
    def component_statuses(self) -> list[JsonObject]:
        """`status.componentStatus`, parallel to `components` once written."""
        return self.status.get("componentStatus") or []

    @property
    def attempt(self) -> int:
        """Deployments so far."""
        return int(self.status.get("attempt") or 0)

    @property
    def retries(self) -> int:
        """Resets that count against the retry limit."""
        return int(self.status.get("resettingCount") or 0)
