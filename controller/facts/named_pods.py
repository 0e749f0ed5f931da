"""Which pods failed, or do not run, in the words of a condition. Pure.

The pods themselves are deleted soon, and with them whatever else tells.
"""

from collections.abc import Callable, Iterable
from heapq import nsmallest
from typing import Final

from controller.facts.pod import Pod

# More of them are only counted: a condition is read by people.
_NAMED: Final = 3


def name_failed(pods: Iterable[Pod]) -> str:
    """`train-0 on gpu-1 (exit code 137, OOMKilled), train-1 and 5 more`, in order of names."""
    return _some(list(pods), _failed)


def name_waiting(pods: Iterable[Pod]) -> str:
    """`train-0 on gpu-1 (ErrImagePull), train-1 without a node`, in order of names."""
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
    told = ", ".join(filter(None, words))
    return f" ({told})" if told else ""
