"""The result of a read of the cluster: an object, a list, or a failed read. Pure."""

from dataclasses import dataclass

from shared.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Unread:
    """A read that failed. `what`: the objects, for people. `forbidden`: the user lacks a right."""

    what: str
    why: str
    forbidden: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


One = JsonObject | Unread | None  # None: there is no such object
Many = tuple[JsonObject, ...] | Unread


def objects(found: Many | None) -> tuple[JsonObject, ...]:
    """Return the objects, none if they could not be read. The caller must report that elsewhere."""
    return found if isinstance(found, tuple) else ()


def readable(found: One) -> JsonObject | None:
    """Return the object, None if it does not exist or could not be read."""
    return found if isinstance(found, dict) else None


def named(found: Many, name: str) -> One:
    """Return the object with the name, None if there is none."""
    if isinstance(found, Unread):
        return found
    return next((each for each in found if each["metadata"]["name"] == name), None)
