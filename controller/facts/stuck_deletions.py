"""Count the objects whose deletion does not end, for a metric. Pure.

Users choose the names of finalizers, and no text of a user becomes a label.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from controller.reports.deleting_resources import LeftComponent, LeftPod, is_over, of_component
from shared.kinds.table import KINDS

NO_FINALIZER: Final = "none"
OTHER: Final = "other"
# Finalizers that Kubernetes, Kueue and KubeRay set on components and pods.
FINALIZERS: Final = frozenset(
    {
        "batch.kubernetes.io/job-tracking",
        "kubernetes.io/pvc-protection",
        "kueue.x-k8s.io/managed",
        "ray.io/gcs-ft-redis-cleanup-finalizer",
        "ray.io/rayjob-finalizer",
        "service.kubernetes.io/load-balancer-cleanup",
    }
)
_POD: Final = "Pod"
_KINDS: Final = frozenset(kind.resource.kind for kind in KINDS)

# Finalizer and Kind, each a known name or OTHER, and the number of objects.
Stuck = tuple[tuple[tuple[str, str], int], ...]


def stuck_deletions(components: Iterable[LeftComponent], pods: Iterable[LeftPod]) -> Stuck:
    """Count the components and pods that are being deleted, and are later than is usual.

    These are the objects that the blockers name. An object counts once for each finalizer.
    """
    late = [
        *((each.kind, each.finalizers) for each in components if each.deleting and _is_late(each)),
        *((_POD, each.finalizers) for each in pods if is_over(each)),
    ]
    found = Counter(
        (finalizer, kind if kind in _KINDS else OTHER)
        for kind, finalizers in late
        for finalizer in {_known(each) for each in finalizers} or {NO_FINALIZER}
    )
    return tuple(sorted(found.items()))


def _is_late(component: LeftComponent) -> bool:
    return any(of_component(component))


def _known(finalizer: str) -> str:
    return finalizer if finalizer in FINALIZERS else OTHER
