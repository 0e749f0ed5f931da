"""Choose the pods whose failures count against an attempt, including deleted pods. Pure.

Controllers delete failed pods: a JobSet that restarts, a PyTorchJob that restarts a worker, a Job
that gives up. The controller remembers the evidence of such pods (memory.Sightings).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from controller.facts.pod_counts import (
    Membership,
    judged_failures,
    newest_owners,
    rank,
    unhealed_failures,
)
from controller.facts.pods import Pod


def failure_in(pod: Pod) -> Pod | None:
    """Return the pod as a failed one, if it failed or crashed by itself; else None.

    The result shows the pod before its deletion: for Kubernetes, a pod in a crash loop runs, and
    only its deletion makes it fail.
    """
    if pod.phase == "Failed":
        return pod if pod.failed_at or pod.ends else None
    if pod.crash_loop is None or pod.deleting or not pod.ends:
        return None
    last = max(pod.ends, key=lambda each: each.finished)
    return replace(pod, phase="Failed", failed_at=last.finished, exit_codes=(last.exit_code,))


def evidence(pods: Sequence[Pod], gone: Iterable[Pod], membership: Membership) -> Sequence[Pod]:
    """Return the pods whose failures count: those without a replacement, else all judged failures.

    `pods`: the counted pods of the current attempt. `gone`: failures of this attempt, whose pods
    may still exist. If nothing failed, pods that crash in place count. If something failed, pods
    that a disruption deletes count too.
    """
    known = {pod.uid: pod for pod in gone}
    if not known and not any(pod.phase == "Failed" for pod in pods):
        return _looping(pods)  # as on nearly every pass: none
    there = [_as_it_failed(pod, known.pop(pod.uid, None)) for pod in pods]
    owners = newest_owners([*there, *known.values()])
    # A JobSet that restarted has created Jobs of the same names.
    left = [
        pod for pod in known.values() if owners[pod.owner_kind, pod.owner_name] == pod.owner_uid
    ]
    failed = [*there, *left]
    unhealed = [each for each in unhealed_failures(failed, membership) if failure_in(each)]
    latest = _without_earlier_trouble(unhealed, failed, membership)
    found = latest or judged_failures(failed, membership) or _looping(there)
    return [*found, *_taken_away(there, membership)] if found else found


def _taken_away(pods: Sequence[Pod], membership: Membership) -> list[Pod]:
    """Return as failed the pods that a disruption deletes and whose end is not reported yet.

    A lost node does not report the end of its pods, but their peers fail.
    """
    taken = {
        pod.uid: replace(pod, phase="Failed", failed_at=pod.deletion_requested_at, ends=())
        for pod in pods
        if pod.phase == "Running" and pod.deleting and pod.cause and not pod.ends
    }
    if not taken:
        return []
    known = [taken.get(pod.uid, pod) for pod in pods]
    return [pod for pod in unhealed_failures(known, membership) if pod.uid in taken]


def _without_earlier_trouble(
    unhealed: Sequence[Pod], pods: Iterable[Pod], membership: Membership
) -> Sequence[Pod]:
    """Leave out the failures whose replacement was created before the others happened.

    A plain Job keeps its failed pods, and its pods have no index. If another one fails hours later,
    all failed pods seem to lack a replacement.
    """
    if len(unhealed) < 2:
        return unhealed
    replaced = _replaced_at(unhealed, pods, membership)
    since = min((each.failed_at for each in unhealed if each.uid not in replaced), default="")
    return [each for each in unhealed if each.uid not in replaced or replaced[each.uid] > since]


def _replaced_at(
    unhealed: Iterable[Pod], pods: Iterable[Pod], membership: Membership
) -> dict[str, str]:
    """Return by a failed pod's UID when its replacement was created.

    Each pod beyond the expected number of its component replaces one failed pod, in the order of
    the failures.
    """
    found: dict[str, str] = {}
    made = sorted((pod for pod in pods if not pod.index), key=rank)
    waiting = sorted((pod for pod in unhealed if not pod.index), key=lambda pod: pod.failed_at)
    for component in (each for each in membership.components if each.uid):
        own = [pod for pod in made if pod.owner_uid == component.uid]
        failed = [pod for pod in waiting if pod.owner_uid == component.uid and pod.failed_at]
        for each in own[component.expected_pods :]:
            if failed and failed[0].failed_at <= each.created:
                found[failed.pop(0).uid] = each.created
    return found


def _looping(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.ends and pod.phase in ("Pending", "Running")]


def on_bad_nodes(failed: Iterable[Pod], *bad: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the nodes of pods that used a resource which is bad there.

    `bad`: by node, the resources that running pods must leave, or that a label marks as bad.
    """
    return frozenset(
        pod.node
        for pod in failed
        if any(resource in each.get(pod.node, ()) for each in bad for resource in pod.resources)
    )


# Failed pods that are gone.

# The most such pods of one AppWrapper, and the most characters of all their messages together.
MOST_FAILURES: Final = 2048
MOST_FAILURE_TEXT: Final = 4 * 1024 * 1024


class SeenFailures:
    """Failed pods that are gone. The oldest is dropped first: it was probably replaced."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}  # by UID
        self._text = 0

    def __iter__(self) -> Iterator[Pod]:
        """Iterate in the order of `add`."""
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, pod: Pod) -> None:
        """Remember the pod as it is now."""
        self._drop(pod.uid)
        self._pods[pod.uid] = pod
        self._text += _text_of(pod)
        while len(self._pods) > MOST_FAILURES or self._text > MOST_FAILURE_TEXT:
            self._drop(next(iter(self._pods)))

    def _drop(self, uid: str) -> None:
        if (pod := self._pods.pop(uid, None)) is not None:
            self._text -= _text_of(pod)


def _text_of(pod: Pod) -> int:
    return sum(
        len(each.message) + (len(each.record.message) if each.record else 0) for each in pod.ends
    )


def _as_it_failed(pod: Pod, seen: Pod | None) -> Pod:
    """Return the pod as seen, if it crashed before a deletion ended it; else as it is."""
    return seen if seen is not None and pod.deleting and failure_in(pod) is None else pod
