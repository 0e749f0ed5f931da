"""Which pods failed, in the words of a condition. Pure.

The pods themselves are deleted soon, and with them whatever else tells.
"""

from collections.abc import Iterable
from typing import Final

from controller.gather.pod import Pod

# More of them are only counted: a condition is read by people.
_NAMED: Final = 3


def name_failed(pods: Iterable[Pod]) -> str:
    """`train-0 on gpu-node-1 (exit code 3), train-1 and 5 more`, in the order of their names."""
    told = [_told(pod) for pod in sorted(pods, key=lambda each: each.name)]
    more = len(told) - _NAMED
    named = ", ".join(told[:_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _told(pod: Pod) -> str:
    node = f" on {pod.node}" if pod.node else ""
    if not pod.exit_codes:
        return f"{pod.name}{node}"
    word = "exit code" if len(pod.exit_codes) == 1 else "exit codes"
    return f"{pod.name}{node} ({word} {', '.join(map(str, pod.exit_codes))})"
