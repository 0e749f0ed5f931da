"""Objects of the API as decoded JSON: their resource, their owner, and lenient reading."""

import re
from dataclasses import dataclass
from typing import Any, Final, TypeVar

# Objects of the API server are plain decoded JSON: pydantic costs too much on the admission and
# watch paths. These aliases mark them in signatures.
#
# `Any` is intended: with a recursive JSON type every read of a known field needs a cast.

JsonValue = Any
JsonObject = dict[str, Any]


def type_of(value: JsonValue) -> str:
    """Return JSON's name of a value's type, with its article: "an object", "null"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


_T = TypeVar("_T", dict[str, Any], list[Any], str, bool)
_NAMES: Final = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}


def of_type(value: JsonValue, wanted: type[_T], path: str, error: type[Exception]) -> _T | None:
    """Return the value at `path`, None for null; raise `error` for a value of another type."""
    if value is None or isinstance(value, wanted):
        return value
    raise error(f"{path} is {type_of(value)}, not {_NAMES[wanted]}")


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """A group, version and Kind. `group` is empty for the core API group."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> "GroupVersionKind":
        """Parse an object's `apiVersion` (`v1`, `batch/v1`) and add its `kind`."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """Return `group/Kind`, or `Kind` in the core group, as configuration and messages do."""
        return f"{self.group}/{self.kind}" if self.group else self.kind


@dataclass(frozen=True, slots=True)
class Resource:
    """A REST resource as discovery describes it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    def path(self, namespace: str | None = None, name: str | None = None, sub: str = "") -> str:
        """Return the URL path of the collection, or of one object, or of its subresource `sub`."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, sub) if part]
        return "/".join(parts)


APPWRAPPERS = Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper")
PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
MUTATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


# Kubernetes' syntax of labels and names.

LONGEST_VALUE: Final = 63

_VALUE: Final = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_PART: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def is_label_value(text: str) -> bool:
    """True for up to 63 characters of `[-_.A-Za-z0-9]`, ends alphanumeric; empty is valid."""
    return _VALUE.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """True for a non-empty label value, after an optional DNS prefix and a slash."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return name != "" and is_label_value(name)


def is_dns_label(text: str) -> bool:
    """True for an RFC 1123 label, as of namespaces: up to 63 characters, lower case."""
    return _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """True for an RFC 1123 subdomain, as of most objects: parts with dots, up to 253 characters."""
    return len(text) <= 253 and all(_DNS_PART.fullmatch(part) for part in text.split("."))


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling owner of an object, from `metadata.ownerReferences`."""

    uid: str
    kind: str
    name: str
    api_version: str = ""


def controller_of(item: JsonObject) -> Owner | None:
    """Return the owner whose reference has `controller: true`; an object has at most one."""
    for reference in (item.get("metadata") or {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return Owner(
                reference.get("uid", ""),
                reference["kind"],
                reference["name"],
                reference.get("apiVersion") or "",
            )
    return None


# Reading metadata of objects that are not validated yet.


def label(target: JsonObject | None, key: str) -> str | None:
    """Return the value of a label; None if the label, the labels or the metadata are missing."""
    labels = metadata(target).get("labels")
    value = labels.get(key) if isinstance(labels, dict) else None
    return value if isinstance(value, str) else None


def labels(target: JsonObject | None) -> dict[str, str]:
    """Return the labels with string values; {} if there are none."""
    return texts(metadata(target).get("labels"))


def annotation(target: JsonObject | None, key: str) -> str | None:
    """Return the value of an annotation; None if any part of its path is missing."""
    return annotations(target).get(key)


def annotations(target: JsonObject | None) -> dict[str, str]:
    """Return the annotations with string values; {} if there are none."""
    return texts(metadata(target).get("annotations"))


def texts(value: JsonValue) -> dict[str, str]:
    """Return an object's entries with string values; {} if it is no object."""
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def metadata(target: JsonObject | None) -> JsonObject:
    """Return the metadata; {} if there is none."""
    found = target.get("metadata") if target is not None else None
    return found if isinstance(found, dict) else {}


def is_being_deleted(target: JsonObject | None) -> bool:
    return bool(metadata(target).get("deletionTimestamp"))
