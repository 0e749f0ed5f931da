"""The number of the attempt, if the status has lost it.

A client that writes a status with the Go operator's types drops all fields unknown to them, the
attempt's number too: the Go operator itself, if it ran meanwhile, or a program that uses its API
package. The labels of deployed objects keep the number.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from controller.facts.pods import Pod
from controller.phases.snapshot import Component
from shared.api.appwrapper import AppWrapper

_MOST_DIGITS: Final = 9  # the schema accepts such a number, and the next one


def is_lost(appwrapper: AppWrapper) -> bool:
    """True if its status has no attempt number: lost, or deployed by the Go operator."""
    return "attempt" not in appwrapper.status


def was_deployed(appwrapper: AppWrapper) -> bool:
    """True if its status records a deployment, which may be over."""
    return any(each.get("conditions") for each in appwrapper.component_statuses)


def highest_attempt(
    appwrapper: AppWrapper, components: Iterable[Component], pods: Sequence[Pod]
) -> int:
    """Return the highest number on its objects and pods; 0 if none has one (Go operator)."""
    attempts = [each.attempt for each in components]
    attempts += [pod.attempt for pod in pods if pod.appwrapper_uid == appwrapper.uid]
    return max((int(each) for each in attempts if is_number(each)), default=0)


def with_attempt(appwrapper: AppWrapper, number: int) -> AppWrapper:
    """Return the AppWrapper in that attempt, for the next status write; 0 changes nothing."""
    if number < 1:
        return appwrapper
    return AppWrapper({**appwrapper.raw, "status": {**appwrapper.status, "attempt": number}})


def is_number(label: str) -> bool:
    """True if an attempt label is a number that the status can hold."""
    return label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS
