"""The objects that `appwrapper check --install` checks, as they were read. Pure."""

from dataclasses import dataclass
from datetime import datetime

from cli.cluster.operator_configuration import OperatorConfiguration
from shared.api.objects import JsonObject
from shared.waits import kueue_settings


@dataclass(frozen=True, slots=True)
class Activity:
    """The controller's last write of any AppWrapper's status.

    `unseen`: AppWrappers without a status, with the time of their creation.
    """

    last_write: datetime | None
    unseen: tuple[tuple[str, datetime], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """The installation. None: the object does not exist or could not be read.

    `refused`: why an object could not be read, by the name of the field.
    """

    configuration: OperatorConfiguration
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
    answer: str  # "" if the webhook handled the dry run, else the failure
    activity: Activity | None
    kueue_namespace: str
    kueue: JsonObject | None
    kueue_config: JsonObject | None
    workload_definition: JsonObject | None
    namespaces: tuple[JsonObject, ...] | None
    served: frozenset[str]  # group/Kind of the served Kinds that the operator knows
    refused: dict[str, str]

    def why_unread(self, *fields: str) -> str:
        """Return why the first of these fields that could not be read was not; "" if all were."""
        return next((self.refused[each] for each in fields if each in self.refused), "")

    @property
    def kueue_settings(self) -> JsonObject | str:
        """Kueue's configuration; the reason, as text, if it cannot be decoded."""
        where = f"ConfigMap {self.kueue_namespace}/{kueue_settings.NAME}"
        if why := self.refused.get("kueue_config"):
            return f"{where}: {why}"
        if self.kueue_config is None:
            return f"there is no {where}"
        found = kueue_settings.settings_of(self.kueue_config)
        return f"{where} {found}" if isinstance(found, str) else found


def wanted_replicas(deployment: JsonObject | None) -> int:
    """Return how many replicas a Deployment should have; 0 without a Deployment."""
    if deployment is None:
        return 0
    wanted = (deployment.get("spec") or {}).get("replicas")
    return 1 if wanted is None else int(wanted)


def ready_replicas(deployment: JsonObject) -> int:
    return int((deployment.get("status") or {}).get("readyReplicas") or 0)
