"""Count pods that ended well and are gone. Pure.

PodGC, a drain or a node's removal deletes their objects.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from controller.facts.pod_counts import Membership, newest_by_index, newest_owners, rank
from controller.facts.pods import Pod


def with_successes(pods: Sequence[Pod], seen: Iterable[Pod], membership: Membership) -> list[Pod]:
    """Return `pods`, and the pods of `seen` that are gone without a replacement.

    `seen`: pods of this attempt that ended well before any deletion. If such a pod still exists, it
    counts as it was seen, even if it is being deleted now.
    """
    by_uid = {pod.uid: pod for pod in seen}
    there = [by_uid.pop(pod.uid, pod) for pod in pods]
    if not by_uid:
        return there
    known = [*there, *by_uid.values()]
    newest, owners = newest_by_index(known), newest_owners(known)
    gone = [
        pod
        for pod in by_uid.values()
        if (not pod.index or newest[pod.owner_uid, pod.index] == rank(pod))
        and owners[pod.owner_kind, pod.owner_name] == pod.owner_uid
    ]
    return [*there, *_in_free_places(gone, there, membership)]


def _in_free_places(
    gone: Iterable[Pod], there: Iterable[Pod], membership: Membership
) -> Iterable[Pod]:
    """Yield as many pods as their component lacks, the newest first.

    KubeRay replaces a worker that ended, and only the number of its pods shows that.
    """
    free: Counter[int | None] = Counter()
    for index, each in enumerate(membership.components):
        free[index] = each.expected_pods
    free[None] = free.total()
    free.subtract(
        membership.index_of(pod)
        for pod in there
        if pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.deleting)
    )
    for pod in sorted(gone, key=rank, reverse=True):
        place = membership.index_of(pod)
        if free[place] > 0:
            free[place] -= 1
            yield pod
