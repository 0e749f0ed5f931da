"""The objects that were read for one AppWrapper at one moment, as plain JSON. Pure.

Nothing is interpreted here. `Unread` takes the place of objects that the user may not read.
"""

from dataclasses import dataclass
from datetime import datetime

from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from shared.waits.kueue_settings import namespaces


@dataclass(frozen=True, slots=True)
class Unread:
    """An object or list that could not be read. `what`: its name for people. `why`: the reason."""

    what: str
    why: str


One = JsonObject | Unread | None  # None: there is no such object
Many = tuple[JsonObject, ...] | Unread


def objects(found: Many) -> tuple[JsonObject, ...]:
    """Return the objects, none if they could not be read. The caller must report that elsewhere."""
    return () if isinstance(found, Unread) else found


def named(found: Many, name: str) -> One:
    """Return the object with the name, None if there is none."""
    if isinstance(found, Unread):
        return found
    return next((each for each in found if each["metadata"]["name"] == name), None)


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The operator's configuration. `assumed`: why the defaults are assumed; "" if it was read."""

    behaviour: AppWrapperConfig
    assumed: str = ""

    @property
    def kueue_namespaces(self) -> tuple[str, ...]:
        """The namespaces in which Kueue may run."""
        return namespaces(self.behaviour.exemptions.quota_managers)

    @property
    def pause_resets(self) -> bool | None:
        """True if an admin stopped all resets; None if the configuration could not be read."""
        return None if self.assumed else self.behaviour.pause_resets


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Objects for all AppWrappers of a namespace. Objects that none of them needs are not read.

    `own_workloads`: of the namespace. `all_workloads`: of the cluster. `kueue_settings`: Kueue's
    configuration. `has_kueue`: the API server serves Workloads.
    """

    settings: OperatorSettings
    namespace: One = None
    has_kueue: bool = True
    own_workloads: Many = ()
    all_workloads: Many = ()
    local_queues: Many = ()
    cluster_queues: Many = ()
    cohorts: Many = ()
    kueue_settings: One = None
    nodes: Many = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One AppWrapper. `components`: the objects of status.componentStatus, in its order.

    `pending`: the pending workloads of its LocalQueue from Kueue's visibility server, or None
    without that server. `component_events`: the events of its components.
    """

    now: datetime
    appwrapper: JsonObject
    world: World
    pods: Many = ()
    components: tuple[One, ...] = ()
    events: Many = ()
    component_events: Many = ()
    pending: Many | None = None

    @property
    def unread(self) -> tuple[Unread, ...]:
        """All failed reads, each once."""
        world = self.world
        parts = (
            world.namespace,
            world.own_workloads,
            world.all_workloads,
            world.local_queues,
            world.cluster_queues,
            world.cohorts,
            world.nodes,
            self.pods,
            *self.components,
            self.events,
            self.component_events,
            self.pending,
        )
        return tuple(dict.fromkeys(each for each in parts if isinstance(each, Unread)))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lists to read beside the AppWrapper itself. Each costs the API server a request."""

    queue: bool = True
    nodes: bool = True
    kueue_settings: bool = True
