"""What a request says about its objects, and what these say themselves, must agree. Pure.

The API server sees to it, so whoever sends anything else is not the API server. Rules may then read
a name or a Kind wherever it is at hand.
"""

from shared.api.objects import JsonObject
from webhook.request_fields import MalformedRequest, object_at, text_at


def check_agreement(
    target: JsonObject, path: str, *, group: str, version: str, kind: str, namespace: str, name: str
) -> None:
    """Raises MalformedRequest where the object at `path` contradicts its request.

    `name` is empty while the API server has not made one from generateName; other webhooks may
    have made one then. An object may leave out its name and namespace, never its Kind.
    """
    api_version = f"{group}/{version}" if group else version
    for key, said in (("apiVersion", api_version), ("kind", kind)):
        found = text_at(target, key, path)
        if found != said:
            _disagree(f"{path}.{key}", found, said)
    metadata = object_at(target, "metadata", path) or {}
    for key, said in (("namespace", namespace), ("name", name)):
        found = text_at(metadata, key, f"{path}.metadata")
        if found and found != said and (said or key != "name"):
            _disagree(f"{path}.metadata.{key}", found, said)


def _disagree(path: str, found: str, said: str) -> None:
    raise MalformedRequest(f"{path} is {_shown(found)}, but the request is for {_shown(said)}")


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 253 else f'"{text[:253]}..."'
