"""Which REST resource a request is about, and which object of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """`group` is empty for the core API group."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> "GroupVersionKind":
        """From an object's `apiVersion` (`v1`, `batch/v1`) and `kind`."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        """As in an object's `apiVersion` field."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """`group/Kind`, or `Kind` in the core group: how configuration and messages name Kinds."""
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
        """The kind of its objects."""
        return GroupVersionKind(self.group, self.version, self.kind)

    def path(self, namespace: str | None = None, name: str | None = None, sub: str = "") -> str:
        """The URL path of the collection, or of one object, or of its subresource `sub`."""
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
MUTATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
