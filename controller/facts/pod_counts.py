"""Counting an AppWrapper's pods. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from controller.facts.crash_loop import stable_in
from controller.facts.exit_codes import is_terminal
from controller.facts.named_pods import name_failed, name_waiting
from controller.facts.pod import Pod
from controller.facts.pod_membership import Membership
from controller.facts.replaced_pods import unreplaced_failures
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Component, PodCounts, Presence
from shared.api.component_report import Terminal
from shared.api.times import parse_time

_STABLE = timedelta(0)


def count_pods(
    pods: Sequence[Pod], membership: Membership, config: FaultTolerance, now: datetime
) -> PodCounts:
    """`pods` are those that belong to the current attempt."""
    awaited = [pod for pod in pods if _is_awaited(membership.component_of(pod))]
    ended_well = [pod for pod in awaited if pod.phase == "Succeeded"]
    failed = list(unreplaced_failures(awaited, membership))
    on_the_way = [pod for pod in awaited if _is_under_way(pod)]
    staying = [pod for pod in on_the_way if not pod.deleting]
    unstable = _times_to_stability(staying, config, now)
    waiting = [pod for pod in staying if pod.phase != "Running" or pod.uid in unstable]
    left = stragglers(pods, membership)
    return PodCounts(
        expected=sum(each.expected_pods for each in membership.components if _is_awaited(each)),
        pending=len(waiting),
        pending_named=name_waiting(waiting),
        running=len(staying) - len(waiting),
        deleting=len(on_the_way) - len(staying),
        succeeded=len(ended_well),
        failed=len(failed),
        failed_named=name_failed(failed),
        outliving=sum(_is_under_way(pod) for pod in pods) - len(on_the_way),
        stragglers=len(left),
        newest_straggler=_newest_that_was_made(left, membership),
        loose_succeeded=_loose_successes(ended_well, membership),
        terminal_exit=any(
            is_terminal(pod.exit_codes, config) for pod in _judged(awaited, failed, membership)
        ),
        unstable=len(unstable),
        stable_in=min((left for left in unstable.values() if left is not None), default=None),
    )


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


def _times_to_stability(
    pods: Iterable[Pod], config: FaultTolerance, now: datetime
) -> dict[str, timedelta | None]:
    """See `stable_in`; by UID of those that crash in place again and again, or did until now."""
    times = {
        pod.uid: stable_in(pod.crash_loop, now, config.stability_period)
        for pod in pods
        if pod.crash_loop is not None
    }
    return {uid: left for uid, left in times.items() if left != _STABLE}


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
