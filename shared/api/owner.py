"""Who owns an object."""

from dataclasses import dataclass

from shared.api.json import JsonObject


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling owner of an object, from `metadata.ownerReferences`."""

    uid: str
    kind: str
    name: str


def controller_of(item: JsonObject) -> Owner | None:
    """The owner whose reference says `controller: true`; an object has at most one."""
    for reference in (item.get("metadata") or {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return Owner(reference.get("uid", ""), reference["kind"], reference["name"])
    return None
