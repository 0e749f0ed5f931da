"""Read one AppWrapper through a typed view of its decoded JSON.

An absent field has the API's default: `suspend` absent is false.
"""

from dataclasses import dataclass

from shared.api.names import ANNOTATION_HOLD, CONTROLLER_NAME, FINALIZER, LABEL_QUEUE_NAME
from shared.api.objects import JsonObject


def is_ours(spec: JsonObject) -> bool:
    """True if `managedBy` is absent or names this controller."""
    return spec.get("managedBy") in (None, "", CONTROLLER_NAME)


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
    def held(self) -> bool:
        """True if a user's annotation keeps it from running."""
        return self.annotations.get(ANNOTATION_HOLD) == "true"

    @property
    def is_ours(self) -> bool:
        """True if `managedBy` is absent or names this controller."""
        return is_ours(self.spec)

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
