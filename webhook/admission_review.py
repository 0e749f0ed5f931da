"""Decode and encode AdmissionReview v1 as plain JSON: no model on the hot path.

The webhook checks a usable review. It answers an unusable request under its UID, as errored, and
any other body with 400.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

import orjson

from shared.api import names
from shared.api.objects import JsonObject, JsonValue, is_being_deleted, of_type, type_of
from webhook.verdicts import Allowed, Denied, Errored, Patched, Verdict

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
APPWRAPPER: Final = f"{names.GROUP}/{names.KIND}"  # the `group_kind` of a request

# The API server accepts objects of up to 3 MiB; a review of an UPDATE holds two, and other fields.
LARGEST_BODY: Final = 7 << 20

# Answers and logs contain both. The API server's UIDs have 36 characters, names at most 253.
_LONGEST_UID: Final = 253
_LONGEST_NAME: Final = 253
# Levels. orjson encodes a few more and decodes 1024; the API server decodes 10,000.
_DEEPEST: Final = 250
_TOO_DEEP: Final = f"the request is nested deeper than {_DEEPEST} levels"
# Two AppWrappers of etcd's largest size, filled with `{},`. Decoded, each bracket costs 64 bytes.
_MOST_BRACKETS: Final = 1_000_000
_TOO_MANY: Final = f"the request has more than {_MOST_BRACKETS} objects and arrays"
# The API server's reviews begin like this: the only source of the UID if the rest is not decoded.
_HEAD: Final = re.compile(
    rb'{"kind":"AdmissionReview","apiVersion":"admission\.k8s\.io/v1",'
    rb'"request":{"uid":"([-0-9A-Za-z]{1,253})"'
)
_REQUEST: Final = "request"
_T = TypeVar("_T", dict[str, Any], list[Any], str, bool)


class NotAnAdmissionReview(ValueError):
    """Raised for a body that is no AdmissionReview v1. The message names the defect."""


class UnusableRequest(ValueError):
    """Raised for a review with a request that no API server sends. `uid` is the request's."""

    def __init__(self, uid: str, message: str) -> None:
        super().__init__(message)
        self.uid = uid


class _MalformedRequest(ValueError):
    """Raised for a request with an invalid field. The message names its path from the root."""


class Operation(StrEnum):
    """The operation on the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class User:
    """The requesting user. `uid` is often empty; the authenticator adds `extra`."""

    name: str
    uid: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One request. `name` is empty while only a generateName is known.

    `object` is empty for DELETE; `old_object` is None for CREATE.
    """

    uid: str
    operation: Operation
    group_kind: str
    subresource: str
    namespace: str
    name: str
    user: User
    object: JsonObject
    old_object: JsonObject | None
    dry_run: bool = False
    # Bytes of the whole review, so at least those of the object; 0 if unknown.
    review_size: int = 0
    # Upper bound of the number of objects and arrays in the review; 0 if unknown.
    review_brackets: int = 0

    @property
    def display_name(self) -> str:
        """Return the name, or the prefix to which the API server will add a suffix (`job-`)."""
        if self.name:
            return self.name
        metadata = self.object.get("metadata")
        prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
        return prefix[:_LONGEST_NAME] if isinstance(prefix, str) else ""


def parse_review(body: bytes) -> AdmissionRequest:
    """Return the request of a review. Raise NotAnAdmissionReview, UnusableRequest."""
    brackets = body.count(b"{") + body.count(b"[")
    review = _decoded(body, brackets)
    if not isinstance(review, dict):
        raise NotAnAdmissionReview("the body is not a JSON object")
    if review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        raise NotAnAdmissionReview(f"the body is not an {KIND} of {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise NotAnAdmissionReview(f"the {KIND} has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise NotAnAdmissionReview(f"the {KIND}'s request has no uid")
    if len(uid) > _LONGEST_UID:
        raise NotAnAdmissionReview(f"the request's uid has more than {_LONGEST_UID} characters")
    try:
        parsed = _parse_request(uid, request, len(body), brackets)
        _check_depth(review, parsed)
    except _MalformedRequest as error:
        raise UnusableRequest(uid, str(error)) from error
    return parsed


def _decoded(body: bytes, brackets: int) -> JsonValue:
    head = _HEAD.match(body)
    if brackets > _MOST_BRACKETS:
        raise (
            UnusableRequest(head[1].decode(), _TOO_MANY)
            if head
            else NotAnAdmissionReview(_TOO_MANY)
        )
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if head and "depth limit" in str(error):
            raise UnusableRequest(head[1].decode(), _TOO_DEEP) from error
        raise NotAnAdmissionReview(f"the body is not JSON: {error}") from error


def _check_depth(review: JsonObject, parsed: AdmissionRequest) -> None:
    """Reject a review that is nested too deep to be encoded again.

    An answer with a part of it could not be encoded either, and other code recurses, for example
    comparisons. An object that is being deleted passes: nothing may block its deletion.
    """
    if parsed.review_brackets <= _DEEPEST or is_being_deleted(parsed.old_object):
        return
    try:
        orjson.dumps(review)
    except orjson.JSONEncodeError as error:
        raise _MalformedRequest(_TOO_DEEP) from error


def _parse_request(uid: str, request: JsonObject, size: int, brackets: int) -> AdmissionRequest:
    try:
        operation = Operation(_text_at(request, "operation", _REQUEST))
    except ValueError as error:
        raise _MalformedRequest("request.operation is not one of Kubernetes") from error
    kind = _at(request, "kind", _REQUEST, dict) or {}
    group, kind_name = (_text_at(kind, key, f"{_REQUEST}.kind") for key in ("group", "kind"))
    if not kind_name:
        raise _MalformedRequest("request.kind.kind is missing")
    parsed = AdmissionRequest(
        uid=uid,
        operation=operation,
        group_kind=f"{group}/{kind_name}" if group else kind_name,
        subresource=_text_at(request, "subResource", _REQUEST),
        namespace=_text_at(request, "namespace", _REQUEST),
        name=_text_at(request, "name", _REQUEST),
        user=_user(request),
        object=_at(request, "object", _REQUEST, dict) or {},
        old_object=_at(request, "oldObject", _REQUEST, dict),
        dry_run=bool(_at(request, "dryRun", _REQUEST, bool)),
        review_size=size,
        review_brackets=brackets,
    )
    if parsed.group_kind == APPWRAPPER and not parsed.namespace:
        raise _MalformedRequest("request.namespace is missing")
    if len(parsed.name) > _LONGEST_NAME:
        raise _MalformedRequest(f"request.name has more than {_LONGEST_NAME} characters")
    for key, target in _objects(parsed):
        if not target:
            raise _MalformedRequest(f"{key} is missing or empty")
    return parsed


def _objects(parsed: AdmissionRequest) -> Iterator[tuple[str, JsonObject | None]]:
    """Yield the objects that this operation requires, each after its field path."""
    if parsed.operation in (Operation.CREATE, Operation.UPDATE):
        yield f"{_REQUEST}.object", parsed.object
    if parsed.operation is Operation.UPDATE:
        yield f"{_REQUEST}.oldObject", parsed.old_object


def _user(request: JsonObject) -> User:
    """Return the requesting user. Without a user name no rights can be checked."""
    path = f"{_REQUEST}.userInfo"
    info = _at(request, "userInfo", _REQUEST, dict) or {}
    name = _text_at(info, "username", path)
    if not name:
        raise _MalformedRequest(f"{path}.username is missing")
    extra = _at(info, "extra", path, dict) or {}
    return User(
        name,
        _text_at(info, "uid", path),
        _texts_at(info, "groups", path),
        {key: _texts_at(extra, key, f"{path}.extra") for key in extra},
    )


# Fields are read strictly: a value of a wrong type does not count as absent. Otherwise the webhook
# could check another request than the one that was sent.


def _at(parent: JsonObject, key: str, path: str, wanted: type[_T]) -> _T | None:
    """Return `parent[key]`, None if it is absent or null. Raise _MalformedRequest."""
    return of_type(parent.get(key), wanted, f"{path}.{key}", _MalformedRequest)


def _text_at(parent: JsonObject, key: str, path: str) -> str:
    return _at(parent, key, path, str) or ""


def _texts_at(parent: JsonObject, key: str, path: str) -> tuple[str, ...]:
    """Return the texts of the array `parent[key]`, () if it is absent or null."""
    values = _at(parent, key, path, list) or []
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise _MalformedRequest(f"{path}.{key}[{index}] is {type_of(value)}, not a string")
    return tuple(values)


def answer(uid: str, verdict: Verdict) -> bytes:
    """Encode the AdmissionReview that answers the request of this UID."""
    response: JsonObject = {"uid": uid}
    match verdict:
        case Allowed(warnings):
            response["allowed"] = True
        case Patched(patch, warnings):
            response["allowed"] = True
            response["patchType"] = "JSONPatch"
            response["patch"] = _base64(patch)
        case Denied(status, warnings):
            response["allowed"] = False
            response["status"] = status
        case Errored(code, message):
            warnings = ()
            response["allowed"] = False
            response["status"] = {
                "status": "Failure",
                "code": code,
                "reason": "BadRequest" if code == 400 else "InternalError",
                "message": message,
            }
    if warnings:
        response["warnings"] = list(warnings)
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _base64(patch: list[JsonObject]) -> str:
    return b64encode(orjson.dumps(patch)).decode("ascii")
