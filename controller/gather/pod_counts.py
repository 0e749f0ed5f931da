"""Counting an AppWrapper's pods. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from controller.gather.exit_codes import is_terminal
from controller.gather.pod import Pod
from controller.gather.pod_membership import Membership
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Component, PodCounts, Presence, Terminal
from shared.api.times import parse_time


def count_pods(pods: Sequence[Pod], membership: Membership, config: FaultTolerance) -> PodCounts:
    """`pods` are those that belong to the current attempt."""
    awaited = [pod for pod in pods if _is_awaited(membership.component_of(pod))]
    ended_well = [pod for pod in awaited if pod.phase == "Succeeded"]
    failed = list(unreplaced_failures(awaited, membership))
    on_the_way = [pod for pod in awaited if _is_under_way(pod)]
    staying = Counter(pod.phase for pod in on_the_way if not pod.deleting)
    left = stragglers(pods, membership)
    return PodCounts(
        expected=sum(each.expected_pods for each in membership.components if _is_awaited(each)),
        pending=staying.total() - staying["Running"],
        running=staying["Running"],
        deleting=sum(pod.deleting for pod in on_the_way),
        succeeded=len(ended_well),
        failed=len(failed),
        outliving=sum(_is_under_way(pod) for pod in pods) - len(on_the_way),
        stragglers=len(left),
        newest_straggler=_newest_that_was_made(left, membership),
        loose_succeeded=_loose_successes(ended_well, membership),
        terminal_exit=any(
            is_terminal(pod.exit_codes, config) for pod in _judged(awaited, failed, membership)
        ),
    )


def unreplaced_failures(pods: Collection[Pod], membership: Membership) -> Iterable[Pod]:
    """Failed pods that nobody has made up for (specification 4).

    A failed pod is replaced once a newer pod of the same owner and index exists, or live and
    succeeded pods of its component reach that one's parallelism.
    """
    sound = Counter(
        membership.index_of(pod)
        for pod in pods
        if pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.deleting)
    )
    for pod in pods:
        if pod.phase != "Failed":
            continue
        component = membership.component_of(pod)
        made_up = component and sound[membership.index_of(pod)] >= component.expected_pods
        if not made_up and not _has_successor(pod, pods):
            yield pod


def stragglers(pods: Iterable[Pod], membership: Membership) -> list[Pod]:
    """Pods still under way whose component ended well, or whose component is no longer there.

    They may be deleted by themselves. A helper goes as a whole.
    """
    makers = any(
        each.presence is not Presence.GONE and each.expected_pods for each in membership.components
    )
    return [
        pod
        for pod in pods
        if _is_under_way(pod)
        and not pod.deleting
        and (_is_left(component) if (component := membership.component_of(pod)) else not makers)
    ]


def outlived(pods: Iterable[Pod], membership: Membership) -> frozenset[int]:
    """The components that have to go for their pods to go, where pods alone do not suffice.

    A pod that nothing relates to a component speaks against all that have pods.
    """
    indices = {membership.index_of(pod) for pod in pods if _is_under_way(pod) and not pod.deleting}
    return frozenset(
        index
        for index, each in enumerate(membership.components)
        if each.exists
        and not each.helper
        and (index in indices or (None in indices and each.expected_pods))
    )


def _is_awaited(component: Component | None) -> bool:
    """What its pods do still matters. A component whose pods may be gone needs none any more."""
    return component is None or not (component.helper or component.terminal is Terminal.SUCCEEDED)


def _is_left(component: Component) -> bool:
    if component.presence is Presence.GONE:
        return True
    return component.terminal is Terminal.SUCCEEDED and not component.helper


def _is_under_way(pod: Pod) -> bool:
    return pod.phase not in ("Succeeded", "Failed")


def _loose_successes(ended_well: Iterable[Pod], membership: Membership) -> int:
    """Of components that report no end, each up to its own number."""
    counted = Counter(membership.index_of(pod) for pod in ended_well)
    total = counted.pop(None, 0)
    for index, number in counted.items():
        component = membership.components[index or 0]
        if not component.reports:
            total += min(number, component.expected_pods)
    return total


def _judged(pods: Iterable[Pod], failed: Iterable[Pod], membership: Membership) -> Iterable[Pod]:
    """Whose exit codes count: failures not made up for, and all of a component that gave up."""
    yield from failed
    for pod in pods:
        component = membership.component_of(pod)
        if pod.phase == "Failed" and component and component.terminal is Terminal.FAILED:
            yield pod


def _newest_that_was_made(pods: Iterable[Pod], membership: Membership) -> datetime | None:
    """Made by a component that is there, so that deleting the component would end it."""
    made = [
        pod.created
        for pod in pods
        if pod.created and (component := membership.component_of(pod)) and component.exists
    ]
    return parse_time(max(made)) if made else None


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
