"""The operator's configuration, from its ConfigMap or the defaults. Pure."""

from dataclasses import dataclass, field
from typing import Final

from cli.cluster.unread import Unread
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.config.loading import ConfigError, parse_config
from shared.waits.kueue_settings import namespaces

CONFIG_NAME: Final = "appwrapper-operator-config"
CONFIG_KEY: Final = "config.yaml"
# The namespaces of this project's manifests and of MLBatch's first guides.
OPERATOR_NAMESPACES: Final = ("appwrapper-system", "mlbatch-system")


@dataclass(frozen=True, slots=True)
class OperatorConfiguration:
    """`problem`: why `config` is the default one, "" if it was read. `mistakes`: in the ConfigMap.

    `namespace`: the operator's. `unread`: the failed read; None, too, if there is no ConfigMap.
    """

    config: Configuration = field(default_factory=Configuration)
    namespace: str = OPERATOR_NAMESPACES[0]
    problem: str = ""
    mistakes: str = ""
    unread: Unread | None = None

    @property
    def behaviour(self) -> AppWrapperConfig:
        return self.config.appwrapper

    @property
    def kueue_namespaces(self) -> tuple[str, ...]:
        """The namespaces in which Kueue may run."""
        return namespaces(self.behaviour.exemptions.quota_managers)

    @property
    def pause_resets(self) -> bool | None:
        """True if an admin stopped all resets; None if the configuration could not be read."""
        return None if self.problem else self.behaviour.pause_resets


def parsed(text: object, namespace: str) -> OperatorConfiguration:
    """Parse the text of the ConfigMap in this namespace."""
    origin = f"ConfigMap {namespace}/{CONFIG_NAME}"
    try:
        loaded = parse_config(text if isinstance(text, str) else "", f"{origin}, {CONFIG_KEY}")
    except ConfigError as error:
        problem = "the operator's configuration has mistakes"
        return OperatorConfiguration(namespace=namespace, problem=problem, mistakes=str(error))
    return OperatorConfiguration(loaded.config, namespace)
