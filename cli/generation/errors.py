"""Errors in values, from pydantic's: each with its file, line and key, and what to write."""

import difflib
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cli.generation.parsed_values import Number, Origin, ParsedValues, Path, dotted
from cli.generation.value_types import Keys, keys_of, model_in
from cli.generation.values import Values
from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject
from shared.waits.words import joined

_ALIKE: Final = 0.6  # of 1


def errors_of(found: ValidationError, root: ParsedValues) -> list[tuple[Origin, FieldError]]:
    """Return pydantic's errors about the values in `root`, with their origins."""
    errors = found.errors(include_url=False)
    paths = [_as_written(each["loc"], root.value) for each in errors]
    return [
        (root.origin(path), _error(each, path)) for each, path in zip(errors, paths, strict=True)
    ]


def _as_written(path: Path, values: JsonObject) -> Path:
    """Return the path of a label as its user wrote it, if the labels are one mapping."""
    around = values.get(str(path[0]))
    if isinstance(around, dict) and len(path) > 1 and isinstance(path[1], int):
        return path[0], list(around)[path[1]]
    return path


def _error(found: ErrorDetails, path: Path) -> FieldError:
    loc, shown = found["loc"], _shown(found["input"])
    match found["type"]:
        case "missing":
            example = keys_of(_model_at(loc[:-1]))[str(loc[-1])].examples or [""]
            detail = f"must be set: write {path[-1]}: {example[0]}"
            return FieldError(dotted(path), FieldErrorKind.REQUIRED, detail)
        case "extra_forbidden":
            return FieldError(dotted(path), FieldErrorKind.FORBIDDEN, _unknown(loc))
        case "literal_error":
            detail = f"must be {found['ctx']['expected'].replace(chr(39), '')}"
        case "tuple_type":
            detail = "must be a list: write each item on a line that begins with -"
        case "bool_type":
            detail = "must be true or false"
        case "unquoted":
            key = "-" if isinstance(path[-1], int) else f"{path[-1]}:"
            detail = f"must be a text: write {key} {quoted(shown)}"
        case _:  # `values` wrote the message
            detail = found["msg"]
    return FieldError(dotted(path), FieldErrorKind.INVALID, detail, shown)


def _unknown(path: Path) -> str:
    """Name the nearest known key if there is one."""
    known = keys_of(_model_at(path[:-1]))
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(path[-1]).lower(), by_folded, n=1, cutoff=_ALIKE)
    if near:
        return f"unknown key; the nearest one is {by_folded[near[0]]}"
    if len(path) > 1:
        return f"unknown key; write {joined([*known])}"
    return "unknown key; `appwrapper generate --example` shows all keys"


def _model_at(path: Path) -> type[Keys]:
    """Return the model of the mapping at `path`."""
    model: type[Keys] = Values
    for step in path:
        if isinstance(step, str):
            model = model_in(keys_of(model)[step].annotation) or model
    return model


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case Number():
            return str(value)
        case _:
            return quoted(str(value))
