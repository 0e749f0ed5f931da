"""Pods that go on though others took their place. Pure.

Whoever deletes a pod begins its grace period, and many controllers make another at once. So who
deletes pods that ignore SIGTERM again and again runs many times what is reserved. Such pods are
borne with for the operator's own period, and no longer, whatever the AppWrapper asks for.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.timers import ZERO, remaining
from shared.api.appwrapper import AppWrapper
from shared.api.times import parse_time


def reserved_pods(appwrapper: AppWrapper) -> list[int]:
    """How many pods of each component there is quota for."""
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
) -> tuple[list[Pod], timedelta | None]:
    """Those that are to be forced now, and when the next of the others will be.

    `pods` are all that are its own, of whatever attempt; `reserved` is by component.
    """
    overdue: list[Pod] = []
    waits: list[timedelta] = []
    for pod in _replaced(pods, membership, reserved):
        left = remaining(parse_time(pod.asked), period, now)
        if left > ZERO:
            waits.append(left)
        else:
            overdue.append(pod)
    return overdue, min(waits, default=None)


def _replaced(
    pods: Iterable[Pod], membership: Membership, reserved: Sequence[int]
) -> Iterable[Pod]:
    """As many as there are too many, those first that were asked to go first.

    What ended holds nothing, so that it counts on neither side. Too many of one component are not
    made up for by another's that ended.
    """
    under_way = [pod for pod in pods if pod.phase not in ("Succeeded", "Failed")]
    by_component: dict[int | None, list[Pod]] = defaultdict(list)
    for pod in under_way:
        by_component[membership.index_of(pod)].append(pod)
    if None in by_component:  # nothing tells what it comes from: all count together
        by_component = {None: under_way}
    for index, found in by_component.items():
        too_many = len(found) - (sum(reserved) if index is None else reserved[index])
        leaving = sorted((pod for pod in found if pod.asked), key=lambda pod: (pod.asked, pod.name))
        yield from leaving[: max(0, too_many)]
