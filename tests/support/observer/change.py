"""One change of one object, as the API server reported it: the input of `Judge`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """`revision` is etcd's: one number for all objects of all Kinds, in the order of writes.

    `item` is the object after the change; for a deleted object, its last state.
    """

    resource: str  # plural
    revision: int
    item: dict[str, Any]
    deleted: bool = False

    @property
    def uid(self) -> str:
        return str(self.item["metadata"]["uid"])

    @property
    def labels(self) -> dict[str, str]:
        """Returns the labels; empty if there are none."""
        return self.item["metadata"].get("labels") or {}
