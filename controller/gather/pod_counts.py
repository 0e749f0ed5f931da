"""Counting an AppWrapper's pods. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from controller.gather.exit_codes import is_terminal
from controller.gather.pod import Pod
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import PodCounts, Terminal


def belongs(pod: Pod, uid: str, attempt: int | None) -> bool:
    """The pod is of this AppWrapper and attempt; attempt None means of any attempt.

    A pod without our labels was made under the Go operator, for the one attempt it knew of.
    """
    if not pod.appwrapper_uid:
        return True
    if pod.appwrapper_uid != uid:
        return False
    return attempt is None or pod.attempt == str(attempt)


class Owners:
    """The components that own pods directly: how many each has at a time, and how it ended."""

    def __init__(self, appwrapper_uid: str) -> None:
        self._appwrapper_uid = appwrapper_uid
        self._expected: dict[str, int] = {}
        self._terminal: dict[str, Terminal | None] = {}
        self._reporting: set[str] = set()

    def add(self, uid: str, expected: int, terminal: Terminal | None, reports: bool) -> None:
        """One component, by the UID of its object."""
        self._expected[uid] = expected
        self._terminal[uid] = terminal
        if reports:
            self._reporting.add(uid)

    def expected(self, uid: str) -> int | None:
        """How many pods this owner keeps; None when it is no component."""
        return self._expected.get(uid)

    def succeeded(self, uid: str) -> bool:
        """This owner ended well, whatever became of single pods."""
        return self._terminal.get(uid) is Terminal.SUCCEEDED

    def reports(self, uid: str) -> bool:
        """This owner, or the pod itself where the pod is the component, tells how it ended."""
        return uid in self._reporting or uid == self._appwrapper_uid


def count_pods(
    pods: Sequence[Pod], expected: int, owners: Owners, config: FaultTolerance
) -> PodCounts:
    """`pods` are those that belong to the current attempt."""
    ended_well = [pod for pod in pods if pod.phase == "Succeeded"]
    failed = list(unreplaced_failures(pods, owners))
    under_way = [pod for pod in pods if pod.phase not in ("Succeeded", "Failed")]
    staying = Counter(pod.phase for pod in under_way if not pod.deleting)
    return PodCounts(
        expected=expected,
        pending=staying.total() - staying["Running"],
        running=staying["Running"],
        deleting=sum(pod.deleting for pod in under_way),
        succeeded=len(ended_well),
        failed=len(failed),
        loose_succeeded=sum(not owners.reports(pod.owner_uid) for pod in ended_well),
        terminal_exit=any(is_terminal(pod.exit_codes, config) for pod in failed),
    )


def unreplaced_failures(pods: Collection[Pod], owners: Owners) -> Iterable[Pod]:
    """Failed pods that nobody has made up for (specification 4).

    A failed pod is replaced once a newer pod of the same owner and index exists, or live and
    succeeded pods of that owner reach its parallelism, or its owner ended well without it.
    """
    sound = Counter(
        pod.owner_uid
        for pod in pods
        if pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.deleting)
    )
    for pod in pods:
        if pod.phase != "Failed":
            continue
        wanted = owners.expected(pod.owner_uid)
        made_up = wanted is not None and sound[pod.owner_uid] >= wanted
        if not made_up and not owners.succeeded(pod.owner_uid) and not _has_successor(pod, pods):
            yield pod


def _has_successor(failed: Pod, pods: Collection[Pod]) -> bool:
    if not failed.index:
        return False
    return any(
        pod.owner_uid == failed.owner_uid
        and pod.index == failed.index
        and pod.uid != failed.uid
        and _is_newer(pod, failed)
        for pod in pods
    )


def _is_newer(pod: Pod, failed: Pod) -> bool:
    """Creation times have seconds only. Of two failures in one second exactly one is the newer."""
    if pod.created != failed.created:
        return pod.created > failed.created
    return pod.phase != "Failed" or pod.uid > failed.uid
