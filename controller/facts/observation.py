"""One moment of one AppWrapper: what was decided on, and what it takes to carry a decision out."""

from dataclasses import dataclass
from datetime import timedelta

from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.resource import Resource


@dataclass(frozen=True, slots=True)
class Deployed:
    """An object of an AppWrapper that is there. `keep`: resets and suspensions leave it alone.

    Of a pod also `node`, where it is, and `leaves`, when the termination grace period ends that it
    was told (RFC 3339); each empty where there is none.
    """

    resource: Resource
    name: str
    uid: str
    deleting: bool
    keep: bool = False
    node: str = ""
    leaves: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """`deployed` holds the components that exist; `pods` the labelled pods, of every attempt.

    `helpers` are those of the components that only serve the others, `stragglers` those of the pods
    that are under way though their component ended well, `outlived` the components that have to go
    for their pods to go. `empty` are components that are being deleted and stay, though a list of
    this very pass proves that nothing they own is left. `silent_nodes` are those that cannot end
    their pods. `look_again` is set where no watch would tell of a change.
    """

    appwrapper: AppWrapper
    snapshot: Snapshot
    config: FaultTolerance
    deployed: tuple[Deployed, ...] = ()
    pods: tuple[Deployed, ...] = ()
    helpers: tuple[Deployed, ...] = ()
    stragglers: tuple[Deployed, ...] = ()
    outlived: tuple[Deployed, ...] = ()
    empty: tuple[Deployed, ...] = ()
    silent_nodes: frozenset[str] = frozenset()
    look_again: timedelta | None = None
