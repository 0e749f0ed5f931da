"""Whose a component or pod is: the labels and the owner reference that tie it to an AppWrapper."""

from dataclasses import dataclass

from shared.api.json import JsonObject
from shared.api.names import (
    API_VERSION,
    KIND,
    LABEL_APPWRAPPER,
    LABEL_ATTEMPT,
    LABEL_COMPONENT,
    LABEL_UID,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One component in one deployment of one AppWrapper. `component` is its index in the spec."""

    namespace: str
    name: str
    uid: str
    attempt: int
    component: int

    @property
    def labels(self) -> dict[str, str]:
        """On every component and every pod template. The name alone is what the Go operator set."""
        return {
            LABEL_APPWRAPPER: self.name,
            LABEL_UID: self.uid,
            LABEL_ATTEMPT: str(self.attempt),
            LABEL_COMPONENT: str(self.component),
        }

    @property
    def owner_reference(self) -> JsonObject:
        """Ties a component to its AppWrapper for garbage collection, and for Kueue.

        Kueue leaves what a queued AppWrapper controls alone (kueue.md 3); so all of these fields
        matter.
        """
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
