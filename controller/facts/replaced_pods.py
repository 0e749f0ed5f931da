"""Which failed pods somebody has made up for (specification 4). Pure.

A failed pod is replaced once a newer pod of the same owner and index exists, or live and succeeded
pods of its owner reach that one's parallelism. How many that is only the owner knows, so:

- An owner that is the component itself (a Job, a PyTorchJob) makes what its pod sets hold.
- Of another owner (a ReplicaSet, the Job of an MPIJob's launcher) some pods must be sound, and its
  whole component complete.
- Of another owner that gives indices (the Jobs of a JobSet) the index alone tells: what one of them
  has too many must not make up for what the other lacks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from controller.facts.pod import Pod
from controller.facts.pod_membership import Membership

_Rank = tuple[str, bool, str]


def unreplaced_failures(pods: Sequence[Pod], membership: Membership) -> Iterable[Pod]:
    """The others. `pods` are all that are awaited, of the current attempt."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if not failed:
        return
    owners = _Owners(pods, membership)
    newest = _newest_by_index(pods)
    for pod in failed:
        has_successor = pod.index and newest[pod.owner_uid, pod.index] > _rank(pod)
        if not has_successor and not owners.have_enough(pod):
            yield pod


class _Owners:
    """How many of the pods that each owner made are sound: live, or succeeded."""

    def __init__(self, pods: Iterable[Pod], membership: Membership) -> None:
        self._membership = membership
        self._by_owner: Counter[tuple[int | None, str]] = Counter()
        self._by_component: Counter[int | None] = Counter()
        for pod in pods:
            component = membership.index_of(pod)
            if pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.deleting):
                self._by_owner[component, pod.owner_uid] += 1
                self._by_component[component] += 1

    def have_enough(self, pod: Pod) -> bool:
        index = self._membership.index_of(pod)
        if index is None:
            return False
        if pod.index and pod.owner_uid != self._membership.uids[index]:
            return False
        expected = self._membership.components[index].expected_pods
        return self._by_component[index] >= expected and self._by_owner[index, pod.owner_uid] > 0


def _newest_by_index(pods: Iterable[Pod]) -> dict[tuple[str, str], _Rank]:
    newest: dict[tuple[str, str], _Rank] = {}
    for pod in pods:
        if pod.index:
            key = pod.owner_uid, pod.index
            newest[key] = max(newest.get(key, _rank(pod)), _rank(pod))
    return newest


def _rank(pod: Pod) -> _Rank:
    """Creation times have seconds only. Of two failures in one second exactly one is the newer."""
    return pod.created, pod.phase != "Failed", pod.uid
