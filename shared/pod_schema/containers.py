"""The types with parts: objects with known fields, and lists and maps of one type."""

from dataclasses import dataclass, field

from shared.api.json import JsonValue, type_of
from shared.pod_schema.scalars import Fault, Scalar


@dataclass(slots=True, eq=False)
class Fields:
    """An object whose fields are known by their names. `name` is its type's (`Container`)."""

    name: str
    by_name: dict[str, "Type"] = field(default_factory=dict)
    # As in `Scalar`: no value is good at first sight.
    plain: None = None
    container: type = dict
    # As in `Elements`, so that whoever walks need not ask which of the two this is.
    every: None = None

    def fault(self, value: JsonValue) -> Fault:
        """What is wrong with a value that is no object."""
        return Fault(f"must be an object, but is {type_of(value)}")


@dataclass(slots=True, eq=False)
class Elements:
    """A list, or an object as a map: `every` element or value is of one type."""

    every: "Type"
    container: type
    plain: None = None
    by_name: dict[str, "Type"] = field(default_factory=dict, init=False)

    def fault(self, value: JsonValue) -> Fault:
        """What is wrong with a value that is no list, or no object."""
        wanted = "an array" if self.container is list else "an object"
        return Fault(f"must be {wanted}, but is {type_of(value)}")


Container = Fields | Elements
Type = Scalar | Container
