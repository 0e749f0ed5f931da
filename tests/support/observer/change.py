"""One change of one object, as the API server told of it: what the judge is fed with."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """`revision` is etcd's: one number for all objects of all Kinds, in the order of writes.

    `item` is the object after the change; of a deleted one, as it was last.
    """

    resource: str  # plural
    revision: int
    item: dict[str, Any]
    deleted: bool = False

    @property
    def uid(self) -> str:
        """The object's own."""
        return str(self.item["metadata"]["uid"])

    @property
    def labels(self) -> dict[str, str]:
        """Empty where it has none."""
        return self.item["metadata"].get("labels") or {}
