"""AdmissionReview v1, in and out, as plain JSON: no model on the hot path.

Three things can come in: a review we can judge; a review whose request makes no sense (answered
under its UID, as errored); and something that is no review at all (answered with 400).
"""

from base64 import b64encode
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

from shared.api.json import JsonObject, JsonValue
from webhook.verdicts import Allowed, Denied, Errored, Patched, Verdict

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

# The API server takes objects of up to 3 MiB; a review of an UPDATE holds two, and some more.
LARGEST_BODY: Final = 7 << 20


class NotAnAdmissionReview(ValueError):
    """A body that is no AdmissionReview v1. The message says what is wrong with it."""


class UnusableRequest(ValueError):
    """A review whose request lacks what every request has. `uid` is the request's."""

    def __init__(self, uid: str, message: str) -> None:
        super().__init__(message)
        self.uid = uid


class Operation(StrEnum):
    """What is about to happen to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class User:
    """Who asks. `uid` is often empty."""

    name: str
    uid: str
    groups: tuple[str, ...] = ()


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
    # Bytes of the whole review, so at least those of the object; 0 where that is not known.
    review_size: int = 0

    @property
    def display_name(self) -> str:
        """The name, or what the API server will make it from (`job-` and a suffix)."""
        if self.name:
            return self.name
        metadata = self.object.get("metadata")
        prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
        return prefix if isinstance(prefix, str) else ""


def parse_review(body: bytes) -> AdmissionRequest:
    """The request in a review. Raises NotAnAdmissionReview, UnusableRequest."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotAnAdmissionReview(f"the body is not JSON: {error}") from error
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
    return _parse_request(uid, request, len(body))


def _parse_request(uid: str, request: JsonObject, review_size: int) -> AdmissionRequest:
    try:
        operation = Operation(_text(request.get("operation")))
    except ValueError as error:
        raise UnusableRequest(uid, "request.operation is not one of Kubernetes") from error
    kind = _object(request.get("kind"))
    group, name = _text(kind.get("group")), _text(kind.get("kind"))
    old = request.get("oldObject")
    submitted = request.get("object")
    changes = operation in (Operation.CREATE, Operation.UPDATE)
    if changes and not isinstance(submitted, dict):
        raise UnusableRequest(uid, "request.object is not an object")
    if operation is Operation.UPDATE and not isinstance(old, dict):
        raise UnusableRequest(uid, "request.oldObject is not an object")
    return AdmissionRequest(
        uid=uid,
        operation=operation,
        group_kind=f"{group}/{name}" if group else name,
        subresource=_text(request.get("subResource")),
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")),
        user=_user(_object(request.get("userInfo"))),
        object=_object(submitted),
        old_object=old if isinstance(old, dict) else None,
        dry_run=request.get("dryRun") is True,
        review_size=review_size,
    )


def _user(info: JsonObject) -> User:
    groups = info.get("groups")
    return User(
        _text(info.get("username")),
        _text(info.get("uid")),
        tuple(group for group in groups if isinstance(group, str))
        if isinstance(groups, list)
        else (),
    )


def answer(uid: str, verdict: Verdict) -> bytes:
    """The AdmissionReview to send back, under the request's UID."""
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


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
