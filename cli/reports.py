"""Print a command's report as data, for `-o json` and `-o yaml`. Pure.

A report is a frozen dataclass. Its fields become keys in camelCase, as in Kubernetes, in their
order. Fields that are None are omitted.
"""

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from shared.api.objects import JsonValue
from shared.api.times import format_time

# JSON permits these control characters, but a terminal executes some of them. YAML escapes them.
_ESCAPED: Final = {each: f"\\u{each:04x}" for each in range(0x7F, 0xA0)}


def as_json(value: Any) -> JsonValue:
    """Convert: times to RFC 3339, durations to seconds, Decimals to numbers.

    Raises TypeError for an unsupported type.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
        return {_camel(name): as_json(item) for name, item in found if item is not None}
    if isinstance(value, Enum):
        return as_json(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    raise TypeError(f"a report holds a {type(value).__name__}, which has no place in JSON")


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the keys of a report of that dataclass, in order."""
    return tuple(_camel(each.name) for each in dataclasses.fields(kind))


def to_text(value: JsonValue, output: str) -> str:
    """Return JSON or YAML, as `output` (-o) requests, with a line end."""
    if output == "json":
        return json.dumps(value, indent=2, ensure_ascii=False).translate(_ESCAPED) + "\n"
    from cli.manifests.writing import as_yaml

    return as_yaml(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
