"""The API server's messages about an object that it refuses. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from shared.kube.client import ApiError

# Statuses that reject the object. With any other (401, 429, 5xx) the server gave no result.
REFUSALS: Final = (400, 403, 404, 405, 409, 413, 422)
# The refusals about the content of the object.
ABOUT_CONTENT: Final = (400, 422)
# A field that the strict decoder rejects, and one whose value has another type.
_UNKNOWN_FIELD: Final = re.compile(r'(?:unknown|duplicate) field "(?P<path>[^"]+)"')
_WRONG_TYPE: Final = re.compile(r"Go struct field \w+\.(?P<path>\S+) of type")


def messages_of(error: ApiError) -> Iterator[str]:
    """Yield one error a field if the server names fields, else the whole message."""
    if error.causes:
        yield from map(str, error.causes)
        return
    message = error.whole_message or str(error)
    yield placed_message(message)


def placed_message(message: str) -> str:
    """Return the message after the field that it names, if it names one."""
    found = _UNKNOWN_FIELD.search(message) or _WRONG_TYPE.search(message)
    return f"{found['path']}: {message}" if found else message
