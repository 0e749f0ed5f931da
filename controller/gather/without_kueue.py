"""Where no Kueue is installed, a queue's name means nothing."""

from dataclasses import replace
from typing import Final

from controller.gather.unserved_kinds import UnservedKinds
from controller.phases.phase import Phase
from controller.phases.snapshot import PodSetInfos, Snapshot
from shared.api.resource import GroupVersionKind

# What Kueue keeps its decisions in, in whatever version; there is no Kueue without them.
_WORKLOADS: Final = GroupVersionKind("kueue.x-k8s.io", "v1beta1", "Workload")


async def unless_kueue_is_missing(snapshot: Snapshot, unserved: UnservedKinds) -> Snapshot:
    """The same, but queued no longer where nobody can ever admit it. Raises KubeError.

    Under Kueue next to none are looked into: it suspends those of a queue when they are created.
    """
    waits = (
        snapshot.phase is Phase.SUSPENDED
        and snapshot.queued
        and not snapshot.suspend
        and snapshot.pod_set_infos is not PodSetInfos.COMPLETE
    )
    if not waits or await unserved.obstacle(_WORKLOADS):
        return snapshot
    return replace(snapshot, queued=False)
