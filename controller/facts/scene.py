"""What every look at an AppWrapper begins with."""

from dataclasses import dataclass
from datetime import datetime

from controller.facts.evacuation import UNWATCHED_NODES, NodeTags
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.appwrapper import AppWrapper


@dataclass(frozen=True, slots=True)
class Scene:
    """`snapshot` lacks components and pods so far; `now` is the time of the whole pass."""

    appwrapper: AppWrapper
    snapshot: Snapshot
    config: FaultTolerance
    now: datetime
    nodes: NodeTags = UNWATCHED_NODES
