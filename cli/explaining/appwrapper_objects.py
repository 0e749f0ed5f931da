"""The objects that were read for one AppWrapper at one moment, as plain JSON. Pure.

`Unread` takes the place of objects that the user may not read.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property

from cli.cluster.operator_configuration import OperatorConfiguration
from cli.cluster.unread import Many, One, Unread, objects
from shared.api.amounts import Amounts
from shared.api.objects import JsonObject
from shared.waits.quota import offered
from shared.waits.workload import Holder, holders


@dataclass(frozen=True, kw_only=True)
class NamespaceObjects:
    """Objects for all AppWrappers of a namespace. Objects that none of them needs are not read.

    `settings`: the operator's. `own_workloads`: of the namespace. `all_workloads`: of the cluster.
    `kueue_settings`: Kueue's configuration. `has_kueue`: the API server serves Workloads.
    """

    settings: OperatorConfiguration
    namespace: One = None
    has_kueue: bool = True
    own_workloads: Many = ()
    all_workloads: Many = ()
    local_queues: Many = ()
    cluster_queues: Many = ()
    cohorts: Many = ()
    kueue_settings: One = None
    nodes: Many = ()

    # Long lists are read once for all AppWrappers.

    @cached_property
    def holders(self) -> tuple[Holder, ...]:
        """The workloads with quota, of all namespaces if these could be read."""
        everywhere = self.all_workloads
        return holders(
            objects(self.own_workloads if isinstance(everywhere, Unread) else everywhere)
        )

    @cached_property
    def node_amounts(self) -> tuple[Amounts, ...]:
        """The amounts that each node offers."""
        return tuple(map(offered, objects(self.nodes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AppWrapperObjects:
    """One AppWrapper. `components`: the objects of status.componentStatus, in its order.

    `pending`: the pending workloads of its LocalQueue from Kueue's visibility server, or None
    without that server. `component_events`: the events of its components.
    """

    now: datetime
    appwrapper: JsonObject
    world: NamespaceObjects
    pods: Many = ()
    components: tuple[One, ...] = ()
    events: Many = ()
    component_events: Many = ()
    pending: Many | None = None

    @property
    def unread(self) -> tuple[Unread, ...]:
        """All failed reads, each once.

        A team may read the workloads of its own namespace only: the holders' heading reports that.
        """
        omitted = "" if isinstance(self.world.own_workloads, Unread) else "all_workloads"
        names = [each.name for each in fields(self.world) if each.name != omitted]
        read = [getattr(self.world, name) for name in names]
        read += (self.pods, *self.components, self.events, self.component_events, self.pending)
        return tuple(dict.fromkeys(each for each in read if isinstance(each, Unread)))
