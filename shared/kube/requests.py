"""Build requests to the API server. Pure: tests compare each request literally.

The client sends them. A caller's bug raises ValueError. An impossible name, or an object that
cannot be encoded, raises `Invalid`: it may come from a user's template.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote, urlencode

import orjson

from shared.api.objects import PODS, JsonObject, JsonValue, Resource
from shared.kube.responses import ApiError, Invalid, KubeError, TooManyRequests, Unreachable


class Propagation(StrEnum):
    """How a delete treats the objects that the deleted object owns."""

    FOREGROUND = "Foreground"
    BACKGROUND = "Background"
    ORPHAN = "Orphan"


class PatchType(StrEnum):
    """The content types of PATCH."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    APPLY = "application/apply-patch+yaml"


_JSON = "application/json"
# The API server answers 406 to the opening of a WebSocket that accepts only JSON.
_ANY = {"Accept": "*/*"}
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `target` is the path with its query, percent-encoded."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": _JSON})
    body: bytes | None = None

    @property
    def idempotent(self) -> bool:
        """True if sending the request twice has the same effect as sending it once."""
        return self.method == "GET"


def get(
    resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
) -> Request:
    """GET one object from etcd: without a resourceVersion no cache may answer."""
    accept = _METADATA if metadata_only else _JSON
    return Request("GET", _object_path(resource, namespace, name), {"Accept": accept})


def list_page(
    resource: Resource,
    namespace: str | None,
    *,
    label_selector: str = "",
    field_selector: str = "",
    metadata_only: bool = False,
    page_size: int = 500,
    continue_token: str = "",
) -> Request:
    """GET one page, without a resourceVersion: 0 would allow an old answer."""
    query = {
        "limit": str(page_size),
        "labelSelector": label_selector,
        "fieldSelector": field_selector,
        "continue": continue_token,
    }
    accept = _METADATA_LIST if metadata_only else _JSON
    path = _collection_path(resource, namespace)
    return Request("GET", _with_query(path, query), {"Accept": accept})


def watch(
    resource: Resource,
    namespace: str | None,
    *,
    resource_version: str,
    timeout_seconds: int,
    label_selector: str = "",
    field_selector: str = "",
    metadata_only: bool = False,
) -> Request:
    """GET a stream of changes after `resource_version`, limited to `timeout_seconds`."""
    if resource_version in {"", "0"}:
        raise ValueError("a watch starts at the resourceVersion of a list, never at 0 or nowhere")
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "timeoutSeconds": str(timeout_seconds),
        "labelSelector": label_selector,
        "fieldSelector": field_selector,
    }
    accept = _METADATA if metadata_only else _JSON
    path = _collection_path(resource, namespace)
    return Request("GET", _with_query(path, query), {"Accept": accept})


def pod_log(
    namespace: str,
    pod: str,
    container: str,
    *,
    follow: bool = False,
    tail: int | None = None,
    since: str = "",
    since_seconds: int | None = None,
) -> Request:
    """GET a container's log, each line after its time.

    `tail`: only so many last lines. `since`: only lines of this RFC 3339 time or later; the kubelet
    reads whole seconds of it.
    """
    query = {
        "container": container,
        "timestamps": "true",
        "follow": "true" if follow else "",
        "tailLines": "" if tail is None else str(tail),
        "sinceTime": since,
        "sinceSeconds": "" if since_seconds is None else str(since_seconds),
    }
    path = _object_path(PODS, namespace, pod, "log")
    return Request("GET", _with_query(path, query), {"Accept": f"{_JSON}, */*"})


def pod_exec(
    namespace: str,
    pod: str,
    container: str,
    command: Sequence[str],
    *,
    terminal: bool,
    stdin: bool = True,
) -> Request:
    """Open the streams of a command in a container. With a `terminal` it has no separate stderr."""
    query = [
        ("container", container),
        ("stdin", "true" if stdin else "false"),
        ("stdout", "true"),
        ("tty", "true") if terminal else ("stderr", "true"),
        *(("command", each) for each in command),
    ]
    target = f"{_object_path(PODS, namespace, pod, 'exec')}?{urlencode(query)}"
    return Request("GET", target, _ANY)


def pod_port_forward(namespace: str, pod: str, port: int) -> Request:
    """Open one connection to a port of a pod."""
    target = f"{_object_path(PODS, namespace, pod, 'portforward')}?ports={port}"
    return Request("GET", target, _ANY)


def create(
    resource: Resource,
    namespace: str | None,
    body: JsonObject,
    *,
    dry_run: bool = False,
    strict: bool = False,
) -> Request:
    """POST a new object. With `strict`, fields that the server does not know are errors."""
    if resource.namespaced and namespace is None:
        raise ValueError(f"creating a {resource.kind} needs a namespace")
    query = _judging(dry_run=dry_run, strict=strict)
    path = _collection_path(resource, namespace)
    return _with_body("POST", _with_query(path, query), body, _JSON)


def update(
    resource: Resource,
    namespace: str | None,
    name: str,
    body: JsonObject,
    *,
    subresource: str = "",
    dry_run: bool = False,
    strict: bool = False,
) -> Request:
    """PUT a whole object, or its subresource ("status"). `body` holds its resourceVersion.

    `strict` as for `create`.
    """
    path = _object_path(resource, namespace, name, subresource)
    query = _judging(dry_run=dry_run, strict=strict)
    return _with_body("PUT", _with_query(path, query), body, _JSON)


def _judging(*, dry_run: bool, strict: bool) -> dict[str, str]:
    return {"dryRun": "All" if dry_run else "", "fieldValidation": "Strict" if strict else ""}


def patch(
    resource: Resource,
    namespace: str | None,
    name: str,
    body: JsonValue,
    patch_type: PatchType,
    *,
    subresource: str = "",
    field_manager: str = "",
    force: bool = False,
) -> Request:
    """PATCH an object in one of the three ways. Raise ValueError if the options do not fit.

    PatchType.APPLY requires `field_manager`; `force` resolves conflicts.
    """
    if patch_type is PatchType.APPLY and not field_manager:
        raise ValueError("a server-side apply needs a field manager")
    if force and patch_type is not PatchType.APPLY:
        raise ValueError("only a server-side apply can be forced")
    query = {"fieldManager": field_manager, "force": "true" if force else ""}
    path = _object_path(resource, namespace, name, subresource)
    return _with_body("PATCH", _with_query(path, query), body, patch_type.value)


def delete(
    resource: Resource,
    namespace: str | None,
    name: str,
    *,
    uid: str | None,
    propagation: Propagation,
    grace_period_seconds: int | None = None,
) -> Request:
    """DELETE one object. If `grace_period_seconds` is None, the object's own applies; 0 is sent.

    The answer is a Conflict if another object than `uid` has the name.
    """
    options: JsonObject = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation.value,
    }
    if uid is not None:
        options["preconditions"] = {"uid": uid}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    return _with_body("DELETE", _object_path(resource, namespace, name), options, _JSON)


def post(path: str, body: JsonObject) -> Request:
    """POST to a path that is no collection: reviews, token requests."""
    return _with_body("POST", path, body, _JSON)


def get_path(path: str) -> Request:
    """GET a path that is no object: discovery, /version."""
    return Request("GET", path)


def _with_body(method: str, target: str, body: JsonValue, content_type: str) -> Request:
    headers = {"Accept": _JSON, "Content-Type": content_type}
    try:
        encoded = orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise Invalid(422, "Invalid", f"the object cannot be written as JSON: {error}") from error
    return Request(method, target, headers, encoded)


def _with_query(path: str, query: Mapping[str, str]) -> str:
    """Append the parameters that are not empty."""
    given = {key: value for key, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def _collection_path(resource: Resource, namespace: str | None) -> str:
    if namespace is not None:
        namespace = _segment(namespace, "namespace")
    return resource.path(namespace)


def _object_path(resource: Resource, namespace: str | None, name: str, sub: str = "") -> str:
    if resource.namespaced and namespace is None:
        raise ValueError(f"a {resource.kind} has a namespace; none was given for {name!r}")
    if namespace is not None:
        namespace = _segment(namespace, "namespace")
    return resource.path(namespace, _segment(name, "name"), sub)


def _segment(text: str, what: str) -> str:
    """Return `text` as one segment of a path.

    An empty name would address the whole collection: a DELETE of it would empty a namespace. The
    names that Kubernetes forbids everywhere would address another resource.
    """
    if not text:
        raise ValueError(f"an empty {what}")
    if text in {".", ".."} or "/" in text or "%" in text:
        detail = "may not be '.' or '..' and may not contain '/' or '%'"
        raise Invalid(422, "Invalid", f"metadata.{what}: Invalid value: {text!r}: {detail}")
    return quote(text, safe=":@")


# Retries of failed requests. This is the lowest of three levels; above it are the work queue and a
# workload's own retries. It only bridges a broken connection or a server that requests a pause.

# Seconds before the second and the third try of a read without an answer.
UNREACHABLE_DELAYS = (0.2, 1.0)
# The tries of a request to a busy server before its caller gets the error.
BUSY_TRIES = 5
# The longest wait in one request. If the server requests a longer one, the caller gets the error:
# it has other work to do meanwhile.
LONGEST_WAIT = 5.0


def retry_delay(request: Request, error: KubeError, tries: int) -> float | None:
    """Return the seconds until the next try after `tries` failed ones; None for no further try.

    A 429 is retried for every verb, because the server did nothing yet. A missing answer and a 5xx
    with Retry-After are retried for reads only: a write may have taken effect. Other errors, above
    all 403, do not change by repetition.
    """
    if isinstance(error, TooManyRequests):
        return _wait(error) if tries < BUSY_TRIES else None
    if not request.idempotent:
        return None
    if isinstance(error, Unreachable):
        return UNREACHABLE_DELAYS[tries - 1] if tries <= len(UNREACHABLE_DELAYS) else None
    if isinstance(error, ApiError) and error.status >= 500 and error.retry_after is not None:
        return _wait(error) if tries < BUSY_TRIES else None
    return None


def _wait(error: ApiError) -> float | None:
    asked = 1.0 if error.retry_after is None else error.retry_after
    return asked if asked <= LONGEST_WAIT else None
