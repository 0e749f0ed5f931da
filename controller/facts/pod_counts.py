"""Counting an AppWrapper's pods. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.facts.components import reported_alone
from controller.facts.pod_names import name_failed, name_held_up, name_unheeded, name_waiting
from controller.facts.pods import Pod, stable_in
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence
from shared.api.conditions import Terminal
from shared.api.times import parse_time

# Whose a pod is: which AppWrapper's, which attempt's and which component's.


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What one AppWrapper's pods are told by.

    `uids` are those of the components' objects, parallel to `components`; empty where no object is
    there. `taken_over`: it was deployed under the Go operator, so its pods lack most of our labels.
    """

    appwrapper_uid: str
    attempt: int
    components: tuple[Component, ...]
    uids: tuple[str, ...]
    taken_over: bool = False

    def is_own(self, pod: Pod) -> bool:
        """The pod is of this AppWrapper, of whatever attempt.

        The name label alone proves nothing: anybody may copy it, and somebody else's pod must be
        neither waited for nor deleted. Without a UID label the pod's owner decides. Under the Go
        operator that may be an object that we do not know, a ReplicaSet for instance.
        """
        if pod.appwrapper_uid:
            return pod.appwrapper_uid == self.appwrapper_uid
        if not pod.owner_uid:
            return False
        known = pod.owner_uid == self.appwrapper_uid or pod.owner_uid in self.uids
        return known or self.taken_over

    def strangers(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those that are own by their label, and that something made which is no component.

        It may be between a component and its pods. It may as well be anybody's.
        """
        known = {"", self.appwrapper_uid, *self.uids}
        return [pod for pod in pods if pod.owner_uid not in known and self.is_own(pod)]

    def is_current(self, pod: Pod) -> bool:
        """It is own, and of this attempt; the Go operator knew of one attempt only."""
        return self.is_own(pod) and pod.attempt in ("", str(self.attempt))

    def index_of(self, pod: Pod) -> int | None:
        """The component that an own pod is, or comes from; None when nothing tells."""
        if pod.component is not None and pod.component < len(self.components):
            return pod.component
        for uid in (pod.owner_uid, pod.uid):
            if uid and uid in self.uids:
                return self.uids.index(uid)
        with_pods = [i for i, component in enumerate(self.components) if component.expected_pods]
        return with_pods[0] if len(with_pods) == 1 else None

    def component_of(self, pod: Pod) -> Component | None:
        """The same, as the component itself."""
        index = self.index_of(pod)
        return None if index is None else self.components[index]


# Which failed pods somebody has made up for (specification 4).
#
# A failed pod is replaced once a newer pod of the same owner and index exists, or live and
# succeeded pods of its owner reach that one's parallelism. How many that is only the owner knows,
# so:
#
# - An owner that is the component itself (a Job, a PyTorchJob) makes what its pod sets hold. - Of
# another owner (a ReplicaSet, the Job of an MPIJob's launcher) some pods must be sound, and its
# whole component complete. - Of another owner that gives indices (the Jobs of a JobSet) the index
# alone tells: what one of them has too many must not make up for what the other lacks.

_Rank = tuple[str, bool, str]


def unreplaced_failures(pods: Sequence[Pod], membership: Membership) -> Iterable[Pod]:
    """The others. `pods` are all that are awaited, of the current attempt."""
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
    """How many of the pods that each owner made are sound: live, or succeeded."""

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
        if pod.index and pod.owner_uid != self._membership.uids[index]:
            return False
        expected = self._membership.components[index].expected_pods
        return self._by_component[index] >= expected and self._by_owner[index, pod.owner_uid] > 0


def newest_by_index(pods: Iterable[Pod]) -> dict[tuple[str, str], _Rank]:
    """By UID of the owner and index, the rank of the newest pod."""
    newest: dict[tuple[str, str], _Rank] = {}
    for pod in pods:
        if pod.index:
            key = pod.owner_uid, pod.index
            newest[key] = max(newest.get(key, rank(pod)), rank(pod))
    return newest


def newest_owners(pods: Iterable[Pod]) -> dict[tuple[str, str], str]:
    """By Kind and name. A JobSet that restarts makes its Jobs anew under the same names."""
    newest: dict[tuple[str, str], Pod] = {}
    for pod in pods:
        key = pod.owner_kind, pod.owner_name
        newest[key] = max(newest.get(key, pod), pod, key=rank)
    return {key: pod.owner_uid for key, pod in newest.items()}


def rank(pod: Pod) -> _Rank:
    """Creation times have seconds only. Of two failures in one second exactly one is the newer."""
    return pod.created, pod.phase != "Failed", pod.uid


# How many pods there should be, and what fills the places of those that are gone.


def _reported_alone(pods: Iterable[Pod], membership: Membership) -> dict[int | None, int]:
    """See `reported_alone`. As a rule no component reports any."""
    if not any(each.succeeded_pods for each in membership.components):
        return {}
    seen: dict[int | None, list[Pod]] = {}
    for pod in pods:
        if pod.phase == "Succeeded":
            seen.setdefault(membership.index_of(pod), []).append(pod)
    return reported_alone(membership.components, seen)


@dataclass(frozen=True, slots=True)
class _Demand:
    """How many pods there should be, of the awaited components."""

    expected: int = 0
    deferred: int = 0
    staged: bool = False
    unseen: int = 0  # of which nothing is known but that they ended well


def _demand(pods: Sequence[Pod], there: Iterable[Pod], membership: Membership) -> _Demand:
    """`there` are those of `pods` that are under way and stay, or ended well.

    What a component says fills at most the places of pods that are not there, so that it does not
    make up for another. A pod that is there is wanted, whatever its component's status says yet.
    """
    present = Counter(membership.index_of(pod) for pod in there)
    known = Counter(membership.index_of(pod) for pod in pods)
    reported = _reported_alone(pods, membership)
    found = _Demand()
    for index, each in enumerate(membership.components):
        if not _is_awaited(each):
            continue
        expected, wanted = each.expected_pods, each.wanted_pods
        unseen = min(reported.get(index, 0), max(0, expected - known[index]))
        begun = max(expected if wanted is None else wanted, present[index] + unseen)
        found = _Demand(
            expected=found.expected + expected,
            deferred=found.deferred + max(0, expected - begun),
            staged=found.staged or wanted is not None,
            unseen=found.unseen + unseen,
        )
    return found


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
    places = [*on_the_way, *ended_well, *failed]  # a failed pod that was replaced takes none
    demand = _demand(places, [*staying, *ended_well], membership)
    return PodCounts(
        expected=demand.expected,
        deferred=demand.deferred,
        staged=demand.staged,
        pending=len(waiting),
        pending_named=name_waiting(waiting),
        held_up=name_held_up(waiting) if waiting else "",
        unheeded=name_unheeded(waiting) if waiting else "",
        running=len(staying) - len(waiting),
        deleting=len(on_the_way) - len(staying),
        succeeded=len(ended_well) + demand.unseen,
        failed=len(failed),
        failed_named=name_failed(failed),
        outliving=sum(_is_under_way(pod) for pod in pods) - len(on_the_way),
        stragglers=len(left),
        newest_straggler=_newest_that_was_made(left, membership),
        loose_succeeded=_loose_successes(ended_well, membership),
        terminal_named=_terminal(_judged(awaited, failed, membership), config),
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
    """Of components that report no end, each up to its own number.

    What is being deleted may have ended for that alone: a server that stops as it is told to.
    """
    counted = Counter(membership.index_of(pod) for pod in ended_well if not pod.deleting)
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


def _terminal(judged: Iterable[Pod], config: FaultTolerance) -> str:
    """Return `exit code 42 of train-0 is in terminalExitCodes`; empty if a retry may follow."""
    return next(
        (
            f"exit code {code} of {pod.name} {forbidden}"
            for pod in judged
            for code in pod.exit_codes
            if (forbidden := config.forbids(code))
        ),
        "",
    )


def judged_failures(pods: Sequence[Pod], membership: Membership) -> list[Pod]:
    """The failed pods that count against the attempt. `pods` are those of the current attempt."""
    if not any(pod.phase == "Failed" for pod in pods):
        return []  # as on nearly every pass
    awaited = [pod for pod in pods if _is_awaited(membership.component_of(pod))]
    return list(_judged(awaited, unreplaced_failures(awaited, membership), membership))


def unhealed_failures(pods: Sequence[Pod], membership: Membership) -> Iterable[Pod]:
    """The failed pods of awaited components that nobody has replaced."""
    awaited = [pod for pod in pods if _is_awaited(membership.component_of(pod))]
    return unreplaced_failures(awaited, membership)


def _newest_that_was_made(pods: Iterable[Pod], membership: Membership) -> datetime | None:
    """Made by a component that is there, so that deleting the component would end it."""
    made = [
        pod.created
        for pod in pods
        if pod.created and (component := membership.component_of(pod)) and component.exists
    ]
    return parse_time(max(made)) if made else None
