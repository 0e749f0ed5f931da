"""Find replaced pods that keep running. Pure.

A deletion begins a pod's grace period, and many controllers create a replacement at once. A user
who repeatedly deletes pods that ignore SIGTERM would run many times the reserved number. The
controller tolerates such pods for at most the operator's own period, whatever the AppWrapper sets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.timers import ZERO, remaining
from shared.api.appwrapper import AppWrapper
from shared.api.times import parse_time


def reserved_pods(appwrapper: AppWrapper) -> list[int]:
    """Return how many pods of each component have quota."""
    return [
        sum(
            1 if (replicas := pod_set.get("replicas")) is None else max(0, replicas)
            for pod_set in recorded.get("podSets") or ()
        )
        for recorded in appwrapper.component_statuses
    ]


def find_ghosts(
    pods: Iterable[Pod],
    membership: Membership,
    reserved: Sequence[int],
    period: timedelta,
    now: datetime,
    unexpected: Collection[str] = (),
) -> tuple[list[Pod], timedelta | None]:
    """Return the pods to force now, and the wait until the next one is due; None without another.

    `pods`: all pods of the AppWrapper, of any attempt. `reserved` is by component.
    `unexpected`: UIDs of pods without any reserved quota (unexpected.py).
    """
    overdue: list[Pod] = []
    waits: list[timedelta] = []
    for pod in _replaced(pods, membership, reserved, unexpected):
        left = remaining(parse_time(pod.asked), period, now)
        if left > ZERO:
            waits.append(left)
        else:
            overdue.append(pod)
    return overdue, min(waits, default=None)


def _replaced(
    pods: Iterable[Pod],
    membership: Membership,
    reserved: Sequence[int],
    unexpected: Collection[str],
) -> Iterable[Pod]:
    """Yield terminating pods, as many as exceed the reserved number, the earliest deleted first.

    Ended pods use no quota, so they do not count. The surplus of one component counts even if
    pods of another component ended.
    """
    under_way = [pod for pod in pods if pod.phase not in ("Succeeded", "Failed")]
    if unexpected:
        yield from (pod for pod in under_way if pod.asked and pod.uid in unexpected)
        under_way = [pod for pod in under_way if pod.uid not in unexpected]
    by_component: dict[int | None, list[Pod]] = defaultdict(list)
    for pod in under_way:
        by_component[membership.index_of(pod)].append(pod)
    if None in by_component:  # a pod of an unknown component: count all together
        by_component = {None: under_way}
    for index, found in by_component.items():
        too_many = len(found) - (sum(reserved) if index is None else reserved[index])
        leaving = sorted((pod for pod in found if pod.asked), key=lambda pod: (pod.asked, pod.name))
        yield from leaving[: max(0, too_many)]
