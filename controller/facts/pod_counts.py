"""Count an AppWrapper's pods. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.facts.pod_names import (
    name_failed,
    name_ignored_by_scheduler,
    name_rejected,
    name_waiting,
)
from controller.facts.pods import Pod, stable_in
from controller.facts.reported_pods import reported_alone
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence, TerminalExit
from shared.api.conditions import Terminal
from shared.api.times import parse_time

# The AppWrapper, the attempt and the component of a pod.


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The criteria that identify one AppWrapper's pods.

    `taken_over`: the Go operator deployed it, so its pods lack most of this controller's labels.
    """

    appwrapper_uid: str
    attempt: int
    components: tuple[Component, ...]
    taken_over: bool = False

    def is_own(self, pod: Pod) -> bool:
        """True if the pod is of this AppWrapper, of any attempt.

        The name label alone proves nothing: any user may copy it, and the controller must neither
        await nor delete another user's pod. Without a UID label the pod's owner decides. Under the
        Go operator the owner may be unknown to the controller, for example a ReplicaSet.
        """
        if pod.appwrapper_uid:
            return pod.appwrapper_uid == self.appwrapper_uid
        if not pod.owner_uid:
            return False
        owners = (self.appwrapper_uid, *(each.uid for each in self.components))
        return pod.owner_uid in owners or self.taken_over

    def is_current(self, pod: Pod) -> bool:
        """True if it is own and of this attempt; the Go operator counted no attempts."""
        return self.is_own(pod) and pod.attempt in ("", str(self.attempt))

    def index_of(self, pod: Pod) -> int | None:
        """Return the index of the component that an own pod is or comes from; None if unknown."""
        if pod.component is not None and pod.component < len(self.components):
            return pod.component
        for uid in (pod.owner_uid, pod.uid):
            for index, component in enumerate(self.components):
                if uid and uid == component.uid:
                    return index
        with_pods = [i for i, component in enumerate(self.components) if component.expected_pods]
        return with_pods[0] if len(with_pods) == 1 else None

    def component_of(self, pod: Pod) -> Component | None:
        """Return the component of `index_of`."""
        index = self.index_of(pod)
        return None if index is None else self.components[index]

    def is_awaited(self, pod: Pod) -> bool:
        """True unless the pod's component is a helper or ended well."""
        return _is_awaited(self.component_of(pod))


# Which failed pods were replaced.
#
# A failed pod is replaced once a newer pod of the same owner and index exists, or the live and
# succeeded pods of its owner reach its parallelism. Only the owner knows that number, so:
#
# - An owner that is the component itself (a Job, a PyTorchJob) makes as many as its pod sets have.
# - Another owner (a ReplicaSet, the Job of an MPIJob's launcher) must have a sound pod, and its
#   component must have all of its pods.
# - For another owner with indices (the Jobs of a JobSet) only the index counts: the surplus of one
#   Job must not replace the missing pods of another.

_Rank = tuple[str, bool, str]


def unreplaced_failures(pods: Sequence[Pod], membership: Membership) -> Iterable[Pod]:
    """Yield the failed pods without a replacement. `pods`: all awaited ones of the attempt."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if not failed:
        return
    owners = _Owners(pods, membership)
    newest = newest_by_index(pods)
    for pod in failed:
        has_successor = pod.index and newest[pod.owner_uid, pod.index] > rank(pod)
        if not has_successor and not owners.have_enough(pod):
            yield pod


class _Owners:
    """The number of sound pods (live or succeeded) by owner."""

    def __init__(self, pods: Sequence[Pod], membership: Membership) -> None:
        self._membership = membership
        self._by_owner: Counter[tuple[int | None, str]] = Counter()
        self._by_component: Counter[int | None] = Counter(_reported_alone(pods, membership))
        for pod in pods:
            component = membership.index_of(pod)
            if pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.deleting):
                self._by_owner[component, pod.owner_uid] += 1
                self._by_component[component] += 1

    def have_enough(self, pod: Pod) -> bool:
        index = self._membership.index_of(pod)
        if index is None:
            return False
        component = self._membership.components[index]
        if pod.index and pod.owner_uid != component.uid:
            return False
        all_there = self._by_component[index] >= component.expected_pods
        return all_there and self._by_owner[index, pod.owner_uid] > 0


def newest_by_index(pods: Iterable[Pod]) -> dict[tuple[str, str], _Rank]:
    """Return the rank of the newest pod by its owner's UID and its index."""
    newest: dict[tuple[str, str], _Rank] = {}
    for pod in pods:
        if pod.index:
            key = pod.owner_uid, pod.index
            newest[key] = max(newest.get(key, rank(pod)), rank(pod))
    return newest


def newest_owners(pods: Iterable[Pod]) -> dict[tuple[str, str], str]:
    """Return the newest UID by Kind and name: a restarting JobSet recreates Jobs of same names."""
    newest: dict[tuple[str, str], Pod] = {}
    for pod in pods:
        key = pod.owner_kind, pod.owner_name
        newest[key] = max(newest.get(key, pod), pod, key=rank)
    return {key: pod.owner_uid for key, pod in newest.items()}


def rank(pod: Pod) -> _Rank:
    """Return a key by age. Times have whole seconds, so the phase and the UID break ties."""
    return pod.created, pod.phase != "Failed", pod.uid


# How many pods should exist, and which reports replace pods that are gone.


def _reported_alone(pods: Iterable[Pod], membership: Membership) -> dict[int | None, int]:
    """Apply `reported_alone` to the succeeded pods. As a rule no component reports any."""
    if not any(each.succeeded_pods for each in membership.components):
        return {}
    seen: dict[int | None, list[Pod]] = {}
    for pod in pods:
        if pod.phase == "Succeeded":
            seen.setdefault(membership.index_of(pod), []).append(pod)
    return reported_alone(membership.components, seen)


@dataclass(frozen=True, slots=True)
class _Demand:
    """How many pods of the awaited components should exist."""

    expected: int
    deferred: int
    staged: bool
    unseen: int  # known only from their component's report that they ended well


def _demand(pods: Sequence[Pod], there: Iterable[Pod], membership: Membership) -> _Demand:
    """Return the demand. `there`: those of `pods` that ended well, or are under way and stay.

    A component's report replaces at most its own missing pods, never those of another component.
    An existing pod is wanted, even if its component's status does not count it yet.
    """
    present = Counter(membership.index_of(pod) for pod in there)
    known = Counter(membership.index_of(pod) for pod in pods)
    reported = _reported_alone(pods, membership)
    expected, deferred, staged, unseen = 0, 0, False, 0
    for index, each in enumerate(membership.components):
        if not _is_awaited(each):
            continue
        ended = min(reported.get(index, 0), max(0, each.expected_pods - known[index]))
        wanted = each.expected_pods if each.wanted_pods is None else each.wanted_pods
        begun = max(wanted, present[index] + ended)
        expected += each.expected_pods
        deferred += max(0, each.expected_pods - begun)
        staged = staged or each.wanted_pods is not None
        unseen += ended
    return _Demand(expected, deferred, staged, unseen)


_STABLE = timedelta(0)


def count_pods(
    pods: Sequence[Pod],
    membership: Membership,
    config: FaultTolerance,
    now: datetime,
    silent: Collection[str] = (),
) -> PodCounts:
    """Count the pods. `pods`: those of the current attempt. `silent`: nodes that do not answer."""
    waited_for = awaited(pods, membership)
    ended_well = [pod for pod in waited_for if pod.phase == "Succeeded"]
    failed = list(unreplaced_failures(waited_for, membership))
    on_the_way = [pod for pod in waited_for if _is_under_way(pod)]
    staying = [pod for pod in on_the_way if not pod.deleting]
    unstable = _times_to_stability(staying, config, now)
    unreachable = {pod.uid for pod in staying if pod.node in silent}
    down = {*unstable, *unreachable}
    waiting = [pod for pod in staying if pod.phase != "Running" or pod.uid in down]
    left = stragglers(pods, membership)
    places = [*on_the_way, *ended_well, *failed]  # a failed pod that was replaced takes none
    demand = _demand(places, [*staying, *ended_well], membership)
    return PodCounts(
        expected=demand.expected,
        deferred=demand.deferred,
        staged=demand.staged,
        pending=len(waiting),
        pending_named=name_waiting(waiting),
        rejected=name_rejected(waiting),
        ignored_by_scheduler=name_ignored_by_scheduler(waiting),
        running=len(staying) - len(waiting),
        deleting=len(on_the_way) - len(staying),
        succeeded=len(ended_well) + demand.unseen,
        failed=len(failed),
        failed_named=name_failed(failed),
        unawaited=sum(_is_under_way(pod) for pod in pods) - len(on_the_way),
        stragglers=len(left),
        newest_straggler=_newest_that_was_made(left, membership),
        loose_succeeded=_loose_successes(ended_well, membership),
        terminal=_terminal(_judged(waited_for, failed, membership), config),
        unstable=len(unstable),
        unreachable=len(unreachable),
        stable_in=min((left for left in unstable.values() if left is not None), default=None),
    )


def stragglers(pods: Iterable[Pod], membership: Membership) -> list[Pod]:
    """Return the unfinished pods of components that ended well or are gone.

    They may be deleted by themselves; a helper is deleted as a whole.
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


def deleted_with_pods(pods: Iterable[Pod], membership: Membership) -> frozenset[int]:
    """Return the components that must be deleted so that their pods go.

    A pod of an unknown component counts for all components that have pods.
    """
    indices = {membership.index_of(pod) for pod in pods if _is_under_way(pod) and not pod.deleting}
    return frozenset(
        index
        for index, each in enumerate(membership.components)
        if each.exists
        and not each.helper
        and (index in indices or (None in indices and each.expected_pods))
    )


def awaited(pods: Iterable[Pod], membership: Membership) -> list[Pod]:
    """Return the pods whose components are awaited."""
    return [pod for pod in pods if _is_awaited(membership.component_of(pod))]


def _is_awaited(component: Component | None) -> bool:
    """True if its pods still matter; a helper or a component that ended well needs none."""
    return component is None or not (component.helper or component.terminal is Terminal.SUCCEEDED)


def _times_to_stability(
    pods: Iterable[Pod], config: FaultTolerance, now: datetime
) -> dict[str, timedelta | None]:
    """Return `stable_in` by UID, for pods in a crash loop that do not count as running yet."""
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
    """Count the succeeded pods of components that report no end, each up to its expected number.

    A pod that is being deleted may have ended only for that reason, as a server on SIGTERM.
    """
    counted = Counter(membership.index_of(pod) for pod in ended_well if not pod.deleting)
    total = counted.pop(None, 0)
    for index, number in counted.items():
        component = membership.components[index or 0]
        if not component.reports:
            total += min(number, component.expected_pods)
    return total


def _judged(pods: Iterable[Pod], failed: Iterable[Pod], membership: Membership) -> Iterable[Pod]:
    """Yield pods whose exit codes count: unreplaced ones, and all of components that failed."""
    yield from failed
    for pod in pods:
        component = membership.component_of(pod)
        if pod.phase == "Failed" and component and component.terminal is Terminal.FAILED:
            yield pod


def _terminal(judged: Iterable[Pod], config: FaultTolerance) -> TerminalExit | None:
    """Return the first exit code that forbids a retry; None if a retry may follow."""
    codes = (TerminalExit(pod.name, code) for pod in judged for code in pod.exit_codes)
    return next((each for each in codes if config.forbids(each.code)), None)


def judged_failures(pods: Sequence[Pod], membership: Membership) -> list[Pod]:
    """Return the failed pods that count against the attempt. `pods`: those of this attempt."""
    if not any(pod.phase == "Failed" for pod in pods):
        return []  # as on nearly every pass
    waited_for = awaited(pods, membership)
    return list(_judged(waited_for, unreplaced_failures(waited_for, membership), membership))


def unhealed_failures(pods: Sequence[Pod], membership: Membership) -> Iterable[Pod]:
    """Return the failed pods of awaited components without a replacement."""
    return unreplaced_failures(awaited(pods, membership), membership)


def _newest_that_was_made(pods: Iterable[Pod], membership: Membership) -> datetime | None:
    """Return the newest creation among pods of existing components: deleting these ends them."""
    made = [
        pod.created
        for pod in pods
        if pod.created and (component := membership.component_of(pod)) and component.exists
    ]
    return parse_time(max(made)) if made else None
