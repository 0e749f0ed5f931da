"""Identify and read objects as the programs of Kubernetes do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from shared.api.conditions import with_condition
from shared.api.objects import JsonObject, Resource, controller_of, is_being_deleted
from shared.api.times import parse_time
from shared.kube.responses import ApiError
from tests.simulation.api.store import Store
from tests.simulation.loop import EPOCH, stamp


@dataclass(frozen=True, slots=True)
class Key:
    """One object: another object of the same name has another UID."""

    resource: Resource
    namespace: str | None
    name: str
    uid: str

    @classmethod
    def of(cls, resource: Resource, item: JsonObject) -> Self:
        metadata = item["metadata"]
        return cls(resource, metadata.get("namespace"), metadata["name"], metadata["uid"])

    def read(self, store: Store) -> JsonObject | None:
        """Return the object; None if it is gone, also if another one has its name."""
        found = store.get(self.resource, self.namespace, self.name)
        return found if found is not None and found["metadata"]["uid"] == self.uid else None

    def change(self, store: Store, function: Callable[[JsonObject], None]) -> JsonObject | None:
        """Read, change and write the object at once; do nothing if it is gone."""
        return store.change(self.resource, self.namespace, self.name, function, uid=self.uid)

    def delete(self, store: Store, **options: object) -> bool:
        """Request its deletion. False if the API server refuses, as for an object that is gone."""
        try:
            store.delete(self.resource, self.namespace, self.name, uid=self.uid, **options)  # type: ignore[arg-type]
        except ApiError:
            return False
        return True


def has_ended(pod: JsonObject) -> bool:
    """True if no container of the pod will run again."""
    return phase_of(pod) in ("Succeeded", "Failed")


def phase_of(pod: JsonObject) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_active(pod: JsonObject) -> bool:
    """True if the pod has not ended and is not being deleted, as its controllers count."""
    return not has_ended(pod) and not is_being_deleted(pod)


def owner_uid(item: JsonObject) -> str:
    """Return the UID of the controlling owner; empty without one."""
    owner = controller_of(item)
    return owner.uid if owner is not None else ""


def title(item: JsonObject) -> str:
    """Return a name that is the same in all runs: random names of pods are not."""
    owner = controller_of(item)
    return item["metadata"]["name"] if owner is None else f"{item['kind']} of {owner.name}"


def seconds_of(time: str) -> float:
    """Return the seconds from EPOCH to an RFC 3339 time: `stamp`, backwards."""
    return (parse_time(time) - EPOCH).total_seconds()


def set_condition(
    item: JsonObject, kind: str, status: str, reason: str, now: float, message: str = ""
) -> None:
    """Set one condition of the object's status. `now` is in seconds since EPOCH."""
    held = item.setdefault("status", {})
    moment = parse_time(stamp(now))
    held["conditions"] = with_condition(
        held.get("conditions") or [], kind, status, reason, message, moment
    )


def without_finalizer(finalizer: str) -> Callable[[JsonObject], None]:
    """Return the change that removes a finalizer."""

    def change(item: JsonObject) -> None:
        metadata = item["metadata"]
        kept = [each for each in metadata.get("finalizers") or () if each != finalizer]
        if kept:
            metadata["finalizers"] = kept
        else:
            metadata.pop("finalizers", None)

    return change
