"""Ask for a fact that a decision needs and that this pass has not read.

A row reads facts from the snapshot. The snapshot raises NotRead for a fact that costs a read or a
permit and is still unread; `next_step` turns that into an Ask. The reconciler gets the answer and
decides again from the beginning, because a later answer may change an earlier row. So no row uses
an unread fact, and no fact is read that no row uses.
"""

from dataclasses import dataclass
from enum import StrEnum


class Need(StrEnum):
    """The facts that cost a read or a permit. A pass asks for each at most once.

    Exception: an evacuation of more resources than before needs another permit.
    """

    OBSERVED = "observed"  # its components and pods, from watches
    PROOF = "proof"  # fresh reads that prove that none of these exist; answers OBSERVED, too
    PROOF_SAVE_KEPT = "proof save kept"  # the same, except for kept components
    NAMESPACE = "namespace"  # whether its namespace is being deleted
    REJECTIONS = "rejections"  # Events by which operators reject its components
    RECORDS = "records"  # its pods' records in the error store
    PERMIT_EVACUATION = "permit for an evacuation"
    PERMIT_RESET = "permit for a reset"
    # The labels of its pods' bad nodes, and whether silent ones answer, read from the API server.
    LIVE_LABELS = "live labels"
    LIVE_PODS = "live pods"  # its pods, read from the API server
    EVICTION = "eviction"  # why Kueue evicted its Workload
    ASSIGNMENT = "assignment"  # whether the nodes that Kueue assigned accept its pods
    WORKLOADS = "workloads"  # its Workloads, read from the API server
    KUEUE = "kueue"  # whether Kueue is installed
    QUEUE = "queue"  # its queue and its Workload, from watches
    KUEUE_SETTINGS = "kueue settings"  # why Kueue creates no Workload for it


@dataclass(frozen=True, slots=True)
class Ask:
    """The one fact that is missing for a decision."""

    need: Need


class NotRead(Exception):
    """A row used a fact that this pass has not read. Only `next_step` catches it."""

    def __init__(self, need: Need) -> None:
        super().__init__(f"this pass has not read: {need}")
        self.need = need
