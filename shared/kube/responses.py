"""Turn answers of the API server into decoded JSON or into `KubeError`. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

import orjson

from shared.api.objects import JsonObject

# Errors of requests to the API server, one class per answer that callers handle.
#
# A failed read raises; it never means "there is nothing". A network failure is `Unreachable`, an
# answer is an `ApiError`; the cause is always chained. Message texts come only from the server's
# `Status`, cut to 512 characters. Other bodies may hold secrets and are dropped.

_NO_RESOURCE = "the server could not find the requested resource"


class KubeError(Exception):
    """Any failure of a request to the API server."""


class Unreachable(KubeError):
    """No answer: refused, reset, timed out, TLS failure. A write may have taken effect."""


class CannotConnect(KubeError):
    """There is no server to connect to: no kubeconfig, or an unusable one, and why."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why an object is invalid: a field path and its error."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass
class ApiError(KubeError):
    """The server answered with an error. `status` is the HTTP code, `reason` is `Status.reason`.

    `whole_message` and `causes` are for programs that show users the server's message.
    """

    status: int
    reason: str
    message: str
    retry_after: float | None = None  # seconds, from the Retry-After header
    whole_message: str = field(default="", repr=False, compare=False)
    causes: tuple[Cause, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}"


class Unauthorized(ApiError):
    """401: the server did not accept the credentials, even after they were read again once."""


class Forbidden(ApiError):
    """403. Never retried: a denial does not change by repetition."""


class NotFound(ApiError):
    """404: the object, or its resource, does not exist."""

    @property
    def of_resource(self) -> bool:
        """True if the server does not serve the resource: no answer about its objects.

        For groups of CRDs the answer is then no Status, for built-in groups a Status without an
        object (a test: 1.36).
        """
        return self.reason != "NotFound" or self.message == _NO_RESOURCE


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists: an object of that name exists."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition (UID) does not hold."""


class Gone(ApiError):
    """410: the resourceVersion is too old. List again."""


class Invalid(ApiError):
    """422: the object is not valid; sending it unchanged again cannot help."""


class TooManyRequests(ApiError):
    """429: wait for `retry_after` seconds."""


class WatchEventType(StrEnum):
    """The types of watch events that reach a caller; ERROR becomes an exception."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch. `object` of a DELETED event is the last state of the object."""

    type: WatchEventType
    object: JsonObject


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list. Items lack apiVersion and kind if the server omits them."""

    items: list[JsonObject]
    resource_version: str


# JSON nested deeper than orjson can decode is cut. The API server stores thousands of levels in
# unknown fields. One such object must not make the other objects of its list, or the events after
# it, unreadable.

# Far above any real object's depth, and far below the limit of Python's recursion.
DEEPEST: Final = 500
# Strings are tokens too: brackets inside them do not nest.
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def cut(text: bytes) -> bytes:
    """Return the same JSON, with null in place of each array and object below DEEPEST levels."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += [text[start : token.start()], b"null"]
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    start = token.end()
                depth -= 1
            case _:
                pass
    return b"".join([*kept, text[start:]])


MESSAGE_LIMIT = 512
_HIDDEN = "the answer is not a Status of the API server and is not shown, it may hold secrets"

_BY_STATUS: dict[int, Callable[[int, str, str, float | None], ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(status: int, reason: str, message: str, retry_after: float | None = None) -> ApiError:
    """Return the error class of this answer. A 409 is one of two, depending on its reason."""
    message = message[:MESSAGE_LIMIT]
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists(status, reason, message, retry_after)
    return _BY_STATUS.get(status, ApiError)(status, reason, message, retry_after)


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Return the error of an answer with a status of 300 or more."""
    retry_after = _seconds(headers.get("Retry-After"))
    decoded = _decoded_or_none(body)
    if decoded is None or decoded.get("kind") != "Status":
        return api_error(status, "Unknown", _HIDDEN, retry_after)
    return _of_status(status, decoded, retry_after)


def date_of(header: str | None) -> datetime | None:
    """Return the time of a Date header; None if the header holds none."""
    try:
        date = parsedate_to_datetime(header or "")
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _of_status(status: int, decoded: JsonObject, retry_after: float | None = None) -> ApiError:
    details = decoded.get("details")
    if retry_after is None and isinstance(details, dict):
        asked = details.get("retryAfterSeconds")
        retry_after = asked if isinstance(asked, (int, float)) else None
    reason = str(decoded.get("reason") or "Unknown")
    error = api_error(status, reason, str(decoded.get("message") or ""), retry_after)
    error.whole_message = str(decoded.get("message") or "")
    error.causes = _causes(details.get("causes")) if isinstance(details, dict) else ()
    return error


def _causes(found: object) -> tuple[Cause, ...]:
    return tuple(
        Cause(str(each.get("field") or ""), str(each.get("message") or ""))
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
    )


_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


def warnings_of(headers: Mapping[str, str]) -> list[str]:
    """Return the texts of the Warning headers, as kubectl prints them after "Warning:"."""
    return [
        _ESCAPED.sub(r"\1", text)
        for name, value in headers.items()
        if name.lower() == "warning"
        for text in _WARNING.findall(value)
    ]


def object_of(status: int, body: bytes) -> JsonObject:
    """Decode the body of a successful answer. Raise ApiError if it is no JSON object."""
    decoded = _decoded_or_none(body)
    if decoded is None:
        raise ApiError(status, "NotJSON", "the answer is no JSON object: is this an API server?")
    return decoded


def page_of(body: JsonObject) -> tuple[ListPage, str]:
    """Return a page and the token of the next one, empty on the last.

    Raise ApiError for an answer without a version: it is no list, even with status 200. A proxy may
    send one while the API server is away. It must not be read as an empty list.
    """
    metadata = _metadata(body)
    version = str(metadata.get("resourceVersion") or "")
    if not version:
        raise ApiError(200, "NotAList", "the answer to a list is no list: is this an API server?")
    return ListPage(body.get("items") or [], version), str(metadata.get("continue") or "")


def watch_event(line: bytes) -> WatchEvent:
    """Decode one line of a watch. Raise an ERROR event's error (Gone for 410).

    Raise Unreachable for a line that is no event: the stream is broken, and nothing changed.
    """
    decoded = _decoded_or_none(line)
    if decoded is None or "type" not in decoded or not isinstance(decoded.get("object"), dict):
        raise Unreachable("a line of the watch is not a watch event")
    if decoded["type"] == "ERROR":
        status = decoded["object"]
        code = status.get("code")
        raise _of_status(code if isinstance(code, int) and code else 500, status)
    try:
        kind = WatchEventType(decoded["type"])
    except ValueError as error:
        raise Unreachable(f"a watch event of the unknown type {decoded['type']!r}") from error
    return WatchEvent(kind, decoded["object"])


def _metadata(decoded: JsonObject) -> JsonObject:
    """Return the metadata; empty if it is no object."""
    metadata = decoded.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _decoded_or_none(body: bytes) -> JsonObject | None:
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            decoded = orjson.loads(cut(body))
        except orjson.JSONDecodeError:
            return None
    return decoded if isinstance(decoded, dict) else None


def _seconds(header: str | None) -> float | None:
    """Read Retry-After in seconds; the API server never sends the other form, a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        return None


class LineSplitter:
    """Cut a stream of bytes into lines, in linear time for lines of any length."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes, without line ends and empty lines."""
        first, *rest = chunk.split(b"\n")
        self._begun.append(first)
        if not rest:
            return []
        lines = [b"".join(self._begun), *rest[:-1]]
        self._begun = [rest[-1]]
        return [line for line in lines if line]

    @property
    def unfinished(self) -> bool:
        """True if the stream is in the middle of a line."""
        return any(self._begun)
