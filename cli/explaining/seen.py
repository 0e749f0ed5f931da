"""What the cluster shows of one AppWrapper at one moment, as plain JSON. Pure.

Nothing here is interpreted. What the user may not read stands as such, beside the rest.
"""

from dataclasses import dataclass
from datetime import datetime

from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read: `what` names it for people, `why` is the API server's answer."""

    what: str
    why: str


One = JsonObject | Unread | None  # None: there is no such object
Many = tuple[JsonObject, ...] | Unread


def objects(found: Many) -> tuple[JsonObject, ...]:
    """None where they could not be read: for whoever says elsewhere that they could not."""
    return () if isinstance(found, Unread) else found


def named(found: Many, name: str) -> One:
    """The one of that name."""
    if isinstance(found, Unread):
        return found
    return next((each for each in found if each["metadata"]["name"] == name), None)


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The operator's configuration. `assumed` says why these are its defaults; empty: they are not.

    `pause_resets` None: nobody can tell.
    """

    behaviour: AppWrapperConfig
    assumed: str = ""

    @property
    def pause_resets(self) -> bool | None:
        """Whether an admin stopped all resets."""
        return None if self.assumed else self.behaviour.pause_resets


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all AppWrappers of a namespace share. What nobody needed was not read, and is empty.

    `own_workloads` are those of the namespace; `all_workloads` of the cluster. `kueue_settings` is
    Kueue's configuration. `has_kueue`: the API server serves Workloads.
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
    """One AppWrapper. `components` are the objects of status.componentStatus, in its order.

    `pending` is what Kueue's visibility server says of its LocalQueue: None where that server is
    not installed. `component_events` are those of its components.
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
        """Everything that could not be read, each once."""
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
    """What is worth reading beside the AppWrapper itself: each costs the API server a list."""

    queue: bool = True
    nodes: bool = True
    kueue_settings: bool = True
