"""What rules may know beside the request itself: gathered before any of them runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.api.field_errors import FieldError
from shared.api.json import JsonObject
from shared.config.configuration import AppWrapperConfig


class CannotGather(Exception):
    """Something that a rule must know could not be found out, so the request cannot be judged.

    The message says what, and goes to the user. This is our failure, not the user's.
    """


class PodSchema(Protocol):
    """Decodes pod templates as strictly as the API server does."""

    def errors(self, pod_template: JsonObject, path: str) -> Iterator[FieldError]:
        """What is wrong with the pod template (or Pod) at the field path `path`."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """One moment's knowledge, for one request. Fields that no rule asked for keep their default."""

    config: AppWrapperConfig
    # None where nothing needs decoding.
    pod_schema: PodSchema | None = None
    # Whether the request's namespace matches `teamNamespaceSelector`.
    is_team_namespace: bool = False
    # Whether the requester may do everything everywhere. Only asked where a rule depends on it.
    is_admin: bool = False
    # Wrapped Kinds (`group/Kind`) that the requester may not create in the request's namespace,
    # each with the reason in the API server's words.
    denied_kinds: Mapping[str, str] = field(default_factory=dict)
