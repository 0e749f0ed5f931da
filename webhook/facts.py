"""What rules may know beside the request itself: gathered before any of them runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.config.configuration import AppWrapperConfig
from shared.pod_schema.pod_schema import PodSchema


class CannotGather(Exception):
    """Something that a rule must know could not be found out, so the request cannot be judged.

    The message says what, and goes to the user. This is our failure, not the user's.
    """


@dataclass(frozen=True, slots=True)
class Facts:
    """One moment's knowledge, for one request. Fields that no rule asked for keep their default."""

    config: AppWrapperConfig
    # None where no pod template is to be judged; the rule that judges them fails without one.
    pod_schema: PodSchema | None = None
    # Whether the request's namespace matches `teamNamespaceSelector`.
    is_team_namespace: bool = False
    # Whether the requester may do everything everywhere. Only asked where a rule depends on it.
    is_admin: bool = False
    # Wrapped Kinds, as (apiVersion, kind), that the requester may not create in the request's
    # namespace, each with the reason in the API server's words.
    denied_kinds: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # Whether the requester is a part of the platform, for what is created without wrapping it.
    is_platform: bool = False
