"""Name pods that failed or do not run, and why, for conditions that outlive the pods."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from heapq import nsmallest
from typing import Final

from controller.facts.pods import Pod
from shared.api.amounts import amount_text, resource_text

# Further names are only counted: people read the condition.
_NAMED: Final = 3


def name_failed(pods: Iterable[Pod]) -> str:
    """Return `train-0 on gpu-1 (exit code 137, OOMKilled), train-1 and 5 more`, by name."""
    return _some(list(pods), _failed)


def name_waiting(pods: Iterable[Pod]) -> str:
    """Return `train-0 on gpu-1 (ErrImagePull), train-1 without a node`, by name."""
    return _some(list(pods), _waiting)


def _some(pods: list[Pod], words: Callable[[Pod], str]) -> str:
    named = ", ".join(words(pod) for pod in nsmallest(_NAMED, pods, key=lambda each: each.name))
    more = len(pods) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _place(pod: Pod) -> str:
    return f"on {pod.node}" if pod.node else "without a node"


def _waiting(pod: Pod) -> str:
    return f"{pod.name} {_place(pod)}{_why(pod.cause)}"


def _failed(pod: Pod) -> str:
    node = f" on {pod.node}" if pod.node else ""
    return f"{pod.name}{node}{_why(_codes(pod), pod.cause)}"


def _codes(pod: Pod) -> str:
    if not pod.exit_codes:
        return ""
    word = "exit code" if len(pod.exit_codes) == 1 else "exit codes"
    return f"{word} {', '.join(map(str, pod.exit_codes))}"


def _why(*words: str) -> str:
    reasons = ", ".join(filter(None, words))
    return f" ({reasons})" if reasons else ""


# Which pods the scheduler or the kubelet rejects, and which wait for a scheduler.

_QUOTED: Final = 3  # reasons


def name_rejected(pods: Iterable[Pod]) -> str:
    """Return `train-0 and 6 more: 8 Insufficient nvidia.com/gpu; train-7: ErrImagePull`.

    The most frequent reason comes first. Pods without a known reason are left out.
    """
    return _by_reason((pod.name, pod.cause if pod.node else pod.unscheduled) for pod in pods)


def name_ignored_by_scheduler(pods: Iterable[Pod]) -> str:
    """Return `train-0 and 6 more: scheduling gate kueue.x-k8s.io/topology`."""
    return _by_reason((pod.name, pod.ignored_by_scheduler) for pod in pods)


def _by_reason(pods: Iterable[tuple[str, str]]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, why in pods:
        if why:
            by_reason.setdefault(why, []).append(name)
    groups = [(-len(names), min(names), why) for why, names in by_reason.items()]
    return "; ".join(
        f"{first} and {-count - 1} more: {why}" if count < -1 else f"{first}: {why}"
        for count, first, why in nsmallest(_QUOTED, groups)
    )


def too_large(pods: Iterable[Pod], largest: Mapping[str, Decimal]) -> str:
    """Return the request of a pod that exceeds the largest node; empty if there is none.

    `largest`: the most of each resource that one node has; empty if no node is known.
    """
    if not largest:
        return ""
    return next(
        (
            f"{pod.name} requests {resource_text(amount, name)}, and no node of the cluster "
            f"has more than {amount_text(largest.get(name, _NOTHING), name)}"
            for pod in sorted(pods, key=lambda each: each.name)
            for name, amount in pod.requests
            if _exceeds(pod, name, amount, largest.get(name, _NOTHING))
        ),
        "",
    )


_NOTHING: Final = Decimal(0)


def _exceeds(pod: Pod, name: str, amount: Decimal, most: Decimal) -> bool:
    """True if no node has the amount.

    Nodes do not show all resources (a DeviceClass). If none shows this one, the scheduler must have
    reported it as insufficient.
    """
    return amount > most and (most > _NOTHING or f"Insufficient {name}" in pod.unscheduled)
