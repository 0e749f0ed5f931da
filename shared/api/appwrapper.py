"""Read one AppWrapper through a typed view of its decoded JSON.

An absent field has the API's default: `suspend` absent is false.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

import orjson

from shared.api.names import CONTROLLER_NAME, FINALIZER, LABEL_QUEUE_NAME
from shared.api.objects import JsonObject, JsonValue

# A fingerprint of one component as its user submitted it. Webhooks and Kueue add fields that no
# file of the user holds. The webhook therefore stores the fingerprint at submission, to recognise
# the same file later.

# Only JSON with one of these marks can need another spelling: a key with null, or a whole number
# written as a fraction or with an exponent (`1e+16`, or `1e16` in other releases of the encoder). A
# string with such a mark costs time, no more.
_NEEDS_CARE: Final = (b'":null', b".0,", b".0}", b".0]", orjson.dumps(1e16)[1:3])
_INTEGERS: Final = range(-(2**63), 2**64)  # the encoder's range


def component_digest(component: JsonObject) -> str | None:
    """Return the SHA-256, in hex, of template and podSets of an element of spec.components.

    Only path and replicas of a pod set count. The order of keys does not matter. A key with null
    equals an absent key, since merge patches drop it; 1.0 equals 1, true does not. Return None if
    the component is nested too deep for the encoder.
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
    """Return each as [path, replicas]; leave malformed entries as they are, for validation."""
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
    """Return the one spelling that equal values share. The encoder limits the depth."""
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if isinstance(value, float) and value.is_integer() and int(value) in _INTEGERS:
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class AppWrapper:
    """A view of `raw`, which is shared with caches: never change it."""

    raw: JsonObject

    @property
    def metadata(self) -> JsonObject:
        metadata: JsonObject = self.raw["metadata"]
        return metadata

    @property
    def namespace(self) -> str:
        """Return the namespace: never empty in an object that the API server returned."""
        return str(self.metadata["namespace"])

    @property
    def name(self) -> str:
        """Return the name, also the value of the label on its components and pods."""
        return str(self.metadata["name"])

    @property
    def uid(self) -> str:
        """Return the UID, which an earlier AppWrapper of the same name does not share."""
        return str(self.metadata["uid"])

    @property
    def resource_version(self) -> str:
        """Return the opaque version, which every update sends."""
        return str(self.metadata["resourceVersion"])

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def finalizers(self) -> list[str]:
        return self.metadata.get("finalizers") or []

    @property
    def has_our_finalizer(self) -> bool:
        """True if the object cannot vanish before the controller removes its finalizer."""
        return FINALIZER in self.finalizers

    @property
    def deletion_requested(self) -> bool:
        """True if a client deleted the object and finalizers keep it."""
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def spec(self) -> JsonObject:
        return self.raw.get("spec") or {}

    @property
    def suspend(self) -> bool:
        """True if `suspend` is true: Kueue removes the field and never writes false."""
        return bool(self.spec.get("suspend"))

    @property
    def is_ours(self) -> bool:
        """True if `managedBy` is absent or names this controller."""
        return self.spec.get("managedBy") in (None, "", CONTROLLER_NAME)

    @property
    def queue_name(self) -> str:
        """Return the name of its LocalQueue; empty for none."""
        return self.labels.get(LABEL_QUEUE_NAME, "")

    @property
    def components(self) -> list[JsonObject]:
        """Return `spec.components`, in the order of creation."""
        return self.spec.get("components") or []

    @property
    def status(self) -> JsonObject:
        """Return the status, empty before the first status write."""
        return self.raw.get("status") or {}

    @property
    def conditions(self) -> list[JsonObject]:
        return self.status.get("conditions") or []

    @property
    def component_statuses(self) -> list[JsonObject]:
        """Return `status.componentStatus`, parallel to `components` once written."""
        return self.status.get("componentStatus") or []

    @property
    def attempt(self) -> int:
        """Return the number of deployments so far."""
        return int(self.status.get("attempt") or 0)

    @property
    def retries(self) -> int:
        """Return the number of resets that count against the retry limit."""
        return int(self.status.get("resettingCount") or 0)
