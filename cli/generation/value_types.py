"""The types of keys in a values file, and the base of its mappings."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from cli.generation.parsed_values import Number
from shared.api.objects import JsonObject
from shared.api.quantities import QuantityError, parse_quantity
from shared.waits.words import joined

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_PERIOD: Final = r"^\+?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h|d))+)$"
# Not negative. Kubernetes also reads quantities without digits, but no user means them.
_QUANTITY: Final = r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
_LARGEST: Final = 2**31 - 1
# A leading zero means octal to some. `int` refuses thousands of digits with an error of its own.
_WHOLE: Final = re.compile("0|[1-9][0-9]{0,9}")


def problem(detail: str) -> PydanticCustomError:
    """Return the error for a validator to raise."""
    return PydanticCustomError("problem", "{detail}", {"detail": detail})


def quoted_text(value: Any) -> Any:
    """Refuse numbers and booleans, which YAML writes like texts. `errors` adds the key."""
    if isinstance(value, Number | bool):
        raise PydanticCustomError("unquoted", "must be a text")
    return value


def _as_written(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


# Metadata for Annotated. `be`: the end of "must be".


def _fitting(
    be: str, fits: Callable[[str], object], schema: JsonObject
) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(value: Any) -> str:
        if isinstance(value, str) and fits(value):
            return value
        raise problem(f"must be {be}")

    return BeforeValidator(read), WithJsonSchema(schema)


def _text(be: str, pattern: str = r"[\s\S]+", longest: int | None = None) -> tuple[object, ...]:
    def fits(text: str) -> bool:
        return bool(re.fullmatch(pattern, text)) and len(text) <= (longest or len(text))

    limit = {"maxLength": longest} if longest else {}
    schema = {"type": "string", "pattern": f"^(?:{pattern})$", **limit}
    return (*_fitting(be, fits, schema), BeforeValidator(quoted_text))


def _written(be: str, pattern: str = r"[\s\S]*") -> tuple[object, ...]:
    """Accept numbers and booleans too, as the text that was written."""
    text = {"type": "string", "pattern": f"^(?:{pattern})$"}
    schema = {"anyOf": [text, {"type": "number"}, {"type": "boolean"}]}
    fits = re.compile(pattern).fullmatch
    return (*_fitting(be, fits, schema), BeforeValidator(_as_written))


def _amount(be: str, least: int = 0) -> tuple[object, ...]:
    """Accept a Kubernetes quantity, as the text that was written."""

    def fits(text: str) -> bool:
        try:
            return bool(re.fullmatch(_QUANTITY, text)) and parse_quantity(text) >= least
        except QuantityError:  # out of range
            return False

    text = {"type": "string", "pattern": f"^{_QUANTITY}$"}
    return _fitting(be, fits, {"anyOf": [text, {"type": "number", "minimum": 0}]})


def _number(least: int) -> tuple[object, ...]:
    def read(value: Any) -> int:
        """Numbers are texts here. A text in quotes is no number."""
        if isinstance(value, Number) and _WHOLE.fullmatch(value):
            number = int(value)
            if least <= number <= _LARGEST:
                return number
        raise problem(f"must be a whole number from {least} on, such as 4")

    schema = {"type": "integer", "minimum": least, "maximum": _LARGEST}
    return BeforeValidator(read), WithJsonSchema(schema)


Text = Annotated[str, *_text("a text that is not empty")]
AnyText = Annotated[str, *_written("a text")]
WrittenText = Annotated[str, *_written("a text, a number, true or false")]
JobName = Annotated[
    str,
    *_text(
        "at most 50 lower-case letters, digits and hyphens, the first a letter, the last no"
        " hyphen, such as my-job",
        r"[a-z](?:[-a-z0-9]*[a-z0-9])?",
        50,
    ),
]
DnsLabel = Annotated[
    str,
    *_text(
        "at most 63 lower-case letters, digits and hyphens, no hyphen at either end, such as"
        " my-team",
        _LABEL,
        63,
    ),
]
ObjectName = Annotated[
    str,
    *_text(
        "the name of an object: lower-case letters, digits, hyphens and dots, such as my-config",
        _DOMAIN,
        253,
    ),
]
LabelKey = Annotated[
    str,
    *_text(
        "a label's key: at most 63 letters, digits and -_. after an optional domain and /,"
        " such as project-name or example.com/project",
        rf"(?:(?=[^/]{{1,253}}/){_DOMAIN}/)?{_QUALIFIED}",
    ),
]
LabelValue = Annotated[
    str,
    *_written(
        "a label's value: at most 63 letters, digits and -_. with a letter or digit at both ends",
        rf"(?:{_QUALIFIED})?",
    ),
]
ImageName = Annotated[
    str, *_text("an image without blanks, such as ghcr.io/my-org/my-image:v1", r"\S+")
]
ExtendedResource = Annotated[
    str,
    *_text(
        "the name of an extended resource with its domain, such as nvidia.com/roce_gdr",
        rf"(?=[^/]{{1,253}}/){_DOMAIN}/{_QUALIFIED}",
    ),
]
VariableName = Annotated[
    str, *_text("a variable's name without = and blanks, such as LOG_LEVEL", r"[!-<>-~]+")
]
MountPath = Annotated[
    str, *_text("a path in the container, without a colon, such as /data", "[^:]+")
]
Cpus = Annotated[str, *_amount("a quantity of CPUs that is not negative, such as 4, 0.5 or 500m")]
MemoryAmount = Annotated[
    str, *_amount("a quantity of memory of at least 1Mi, such as 1.5Gi, 200M or 1Ti", 2**20)
]
MemoryLimit = Annotated[str, *_amount("a quantity of memory, such as 1.5Gi, 200M or 1Ti")]
Storage = Annotated[str, *_amount("a quantity of storage, such as 800Gi", 1)]
Natural = Annotated[int, *_number(0)]
Positive = Annotated[int, *_number(1)]
PeriodText = Annotated[str, WithJsonSchema({"type": "string", "pattern": _PERIOD})]
RetryLimit = Annotated[str, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": _LARGEST})]
_CODES: Final = {"type": "integer", "minimum": 1, "maximum": 255}
ExitCodes = Annotated[
    str,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "integer"]},
                {"type": "array", "items": _CODES, "minItems": 1},
            ]
        }
    ),
]


def annotation_text(name: str, value: Any) -> str:
    """Return an annotation's value, with days converted to hours. The webhook's table checks it.

    A number is a retry limit or an exit code, never a duration. A list contains exit codes.
    """
    # Imported here: the import takes long, and few values files need it.
    from shared.annotations import PERIODS, TABLE, AnnotationError
    from shared.api.times import format_duration
    from shared.config.fault_tolerance import FaultToleranceConfig

    is_period = any(each.name == name for each in PERIODS)
    if is_period and isinstance(value, Number):
        raise problem(f"has no unit: write {value}s for seconds, or {value}m, h or d")
    if isinstance(value, list) and name.endswith("ExitCodes"):
        value = ",".join(each if isinstance(each, str) else "" for each in value)
    text = str(value) if isinstance(value, str) else ""  # the table rejects an empty text
    try:
        (setting,) = (each for each in TABLE if each.name == name)
        parsed = setting.parse(text, FaultToleranceConfig())
    except AnnotationError as error:
        raise problem(str(error)) from error
    return format_duration(parsed) if is_period and "d" in text else text


def entry(about: str, example: str, default: Any = ...) -> Any:
    """Return the field of a key. `example` is YAML. A key without a default is required."""
    return Field(default, description=about, examples=[example])


def optional(about: str, example: str, alias: str | None = None) -> Any:
    """Return the field of a key that may be missing."""
    return Field(None, description=about, examples=[example], alias=alias)


class Keys(BaseModel):
    """A mapping in a values file."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """Remove null, which means the default; only queueName: null has another meaning."""
        keys = keys_of(cls)
        if not isinstance(given, dict):
            raise problem(f"must be a mapping with {joined([*keys])}")
        return {
            name: value
            for name, value in given.items()
            if value is not None or name not in keys or name == "queueName"
        }

    def given(self, *fields: str) -> JsonObject:
        """Return the keys that are set, of these fields only if any are named."""
        return self.model_dump(
            mode="json", by_alias=True, exclude_none=True, include=set(fields) or None
        )


def keys_of(model: type[Keys]) -> dict[str, FieldInfo]:
    """Return the fields of a model by key, in their order."""
    return {str(each.alias): each for each in model.model_fields.values()}


def model_in(annotation: Any) -> type[Keys] | None:
    """Return the model of a key's value, or of each item if the value is a list."""
    if isinstance(annotation, type) and issubclass(annotation, Keys):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)
