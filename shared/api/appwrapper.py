"""A typed view of one AppWrapper, over its decoded JSON.

Reads only. Absent fields get the meaning that the API gives them: `suspend` absent is false.
"""

from dataclasses import dataclass

from shared.api.json import JsonObject
from shared.api.names import CONTROLLER_NAME, FINALIZER, LABEL_QUEUE_NAME


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
