"""The Secret that the replicas share: read live, written only as it was read.

Its content is never logged. A write carries the resourceVersion of the read: of replicas that write
at once one succeeds, and the others get a Conflict and read what that one wrote.
"""

from dataclasses import dataclass
from typing import Final

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import SECRETS, JsonObject
from shared.kube.client import KubeClient, NotFound
from webhook.tls import secret_data
from webhook.tls.contents import Contents
from webhook.tls.view import Request

_LONGEST_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Stored:
    """The Secret as read. `unknown_request` is what an annotation asks for that nobody can do."""

    contents: Contents
    request: Request | None
    unknown_request: str | None
    raw: JsonObject


class SecretStore:
    """The Secret `name` of `namespace`. It must exist: this never creates it."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    async def read(self) -> Stored | None:
        """None: there is no such Secret. Raises KubeError."""
        try:
            raw = await self._client.get(SECRETS, self._namespace, self._name)
        except NotFound as error:
            if error.of_resource:
                raise
            return None
        asked = (raw["metadata"].get("annotations") or {}).get(ANNOTATION_ROTATE)
        try:
            request = None if asked is None else Request(asked)
            unknown = None
        except ValueError:
            request, unknown = None, str(asked)[:_LONGEST_SHOWN]
        return Stored(secret_data.parse(raw.get("data") or {}), request, unknown, raw)

    async def write(self, stored: Stored, contents: Contents, *, answered: bool) -> None:
        """Puts `contents` where `stored` was read, and takes an answered request away.

        Foreign items of the Secret stay. Raises Conflict when somebody wrote it meanwhile.
        """
        raw = stored.raw
        foreign = {
            key: value
            for key, value in (raw.get("data") or {}).items()
            if key not in secret_data.KEYS
        }
        metadata = dict(raw["metadata"])
        if answered:
            annotations = dict(metadata.get("annotations") or {})
            annotations.pop(ANNOTATION_ROTATE, None)
            metadata["annotations"] = annotations
        body = {**raw, "metadata": metadata, "data": {**foreign, **secret_data.encode(contents)}}
        await self._client.update(SECRETS, self._namespace, self._name, body)
