"""What `appwrapper check --install` judges, as it was read. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.api.objects import JsonObject
from shared.config.configuration import Configuration

# Begins an `answer` that does not show whether the webhook works.
UNKNOWN: Final = "unknown: "


@dataclass(frozen=True, slots=True)
class FoundConfiguration:
    """The operator's configuration. `problem` says why it is the default one."""

    config: Configuration
    namespace: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """What AppWrappers tell of the controller: when one was last written, and who waits for it.

    `unseen` are those without any status, with the time of their creation.
    """

    last_write: datetime | None
    unseen: tuple[tuple[str, datetime], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """None: it is not there. What could not be read is in `refused`, by the same name."""

    configuration: FoundConfiguration
    kubernetes: str
    shipped_definition: JsonObject
    definition: JsonObject | None
    mutating: tuple[JsonObject, ...] | None
    validating: tuple[JsonObject, ...] | None
    policies: tuple[JsonObject, ...] | None
    bindings: tuple[JsonObject, ...] | None
    secret: JsonObject | None
    webhook: JsonObject | None
    controller: JsonObject | None
    leases: tuple[JsonObject, ...] | None
    answer: str  # empty: the webhook judged a dry run; else what was said instead
    activity: Activity | None
    kueue: JsonObject | None
    kueue_config: JsonObject | None
    workload_definition: JsonObject | None
    namespaces: tuple[JsonObject, ...] | None
    served: frozenset[str]  # of our Kinds, as group/Kind
    refused: dict[str, str]
