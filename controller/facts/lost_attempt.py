"""Which attempt it is, where its status says it no more. Pure.

Whoever writes a status with the Go operator's types drops the fields that these lack, the number of
the attempt among them: that operator itself, where it ran in between, and every program made with
its API package. What was deployed carries the number.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from controller.facts.component_facts import ComponentFacts
from controller.facts.pod import Pod
from shared.api.appwrapper import AppWrapper

_MOST_DIGITS: Final = 9  # of a number that the schema takes, also when one is added


def is_lost(appwrapper: AppWrapper) -> bool:
    """Its status counts no attempts: it lost the number, or the Go operator deployed it."""
    return "attempt" not in appwrapper.status


def was_deployed(appwrapper: AppWrapper) -> bool:
    """Its record speaks of a deployment, which may be over."""
    return any(each.get("conditions") for each in appwrapper.component_statuses)


def told_by(
    appwrapper: AppWrapper, components: Iterable[ComponentFacts], pods: Sequence[Pod]
) -> int:
    """The highest number on what it deployed; 0 where nothing has one, as under the Go operator."""
    told = [each.attempt for each in components]
    told += [pod.attempt for pod in pods if pod.appwrapper_uid == appwrapper.uid]
    return max((int(each) for each in told if _is_number(each)), default=0)


def with_attempt(appwrapper: AppWrapper, number: int) -> AppWrapper:
    """The same in that attempt, which the next status write records; 0 changes nothing."""
    if number < 1:
        return appwrapper
    return AppWrapper({**appwrapper.raw, "status": {**appwrapper.status, "attempt": number}})


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS
