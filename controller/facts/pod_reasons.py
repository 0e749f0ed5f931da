"""The meaning of Kubernetes' reasons for a failed pod: is its program or its node to blame? Pure.

Each reason is one row of one table, so that suspect nodes and root causes agree about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OOM_KILLED: Final = "OOMKilled"
NODE_REMOVED: Final = "DeletionByPodGC"  # PodGC deletes the pods of nodes that do not exist
# Reasons of a container that add nothing to its exit code.
TELLS_NOTHING: Final = frozenset({"", "Error", "Completed", "ContainerStatusUnknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The facts that follow from a reason. The default is that of an unknown reason.

    `infrastructure`: no program caused the failure, so no recorded error forbids a retry.
    `blames_node`: the node may be the cause, so the next attempt avoids the node.
    `deletes`: Kubernetes deletes the pod, which may have failed for another reason before.
    `late`: Kubernetes may report it minutes after the failures of the pod's peers.
    """

    infrastructure: bool = False
    blames_node: bool = True
    deletes: bool = False
    late: bool = False


_UNKNOWN: Final = Proof()
# The program or its user caused the failure.
_USERS: Final = Proof(blames_node=False)
# An admin or another pod needs the node, or a taint keeps new pods away from the fault.
_STOPPED: Final = Proof(infrastructure=True, blames_node=False)
_DELETED: Final = Proof(infrastructure=True, blames_node=False, deletes=True)
_DELETED_LATE: Final = Proof(infrastructure=True, blames_node=False, deletes=True, late=True)
# The kubelet rejects the pod.
_REJECTED: Final = Proof(infrastructure=True)

# Reasons of the kubelet, of Kubernetes' controllers and of the container runtime (`pod_cause`).
#
# The reasons of the condition DisruptionTarget are all that Kubernetes 1.37 writes, and JobSet's.
PROOFS: Final[Mapping[str, Proof]] = {
    OOM_KILLED: _USERS,  # the container used more memory than its own limit
    "DeadlineExceeded": _USERS,  # the user's own activeDeadlineSeconds
    # The pod used more storage than its limits, or the node ran short of memory, disk or
    # process ids. Kubernetes' own taint keeps new pods off the node in the latter case.
    "Evicted": _STOPPED,
    # Further reasons of the kubelet: the node shuts down, or a critical pod needs the place.
    "NodeShutdown": _STOPPED,
    "Preempting": _STOPPED,
    "Shutdown": _STOPPED,
    "Terminated": _STOPPED,
    # Reasons of DisruptionTarget.
    "TerminationByKubelet": _STOPPED,  # the three cases above
    "EvictionByEvictionAPI": _DELETED,  # the node was drained
    "PreemptionByScheduler": _DELETED,
    "ExclusivePlacementViolation": _DELETED,  # JobSet puts the pod into another topology domain
    "DeletionByTaintManager": _DELETED_LATE,  # the node has a NoExecute taint
    # One device has a NoExecute taint, which keeps new pods off that device. The node's other
    # devices are well. A DRA driver sets the taint after it has noticed the fault.
    "DeletionByDeviceTaintManager": _DELETED_LATE,
    NODE_REMOVED: _DELETED_LATE,
    # The node differs from what the scheduler knew.
    "NodeAffinity": _REJECTED,
    "TopologyAffinityError": _REJECTED,
    "UnexpectedAdmissionError": _REJECTED,
    "NodeLost": Proof(infrastructure=True, late=True),
}
_NO_ROOM: Final = "OutOf"  # the kubelet appends a resource's name: OutOfnvidia.com/gpu


def proof_of(reason: str) -> Proof:
    """Return what the reason proves. An unknown or empty reason leaves the node a suspect."""
    return _REJECTED if reason.startswith(_NO_ROOM) else PROOFS.get(reason, _UNKNOWN)
