"""When a deletion that begins is looked at again: at once where no watch will tell of anything."""

from datetime import timedelta

import pytest

from controller.phases.actions import WakeAfter
from controller.phases.deletion import begin_deletion
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Presence, Snapshot


def component(presence: Presence, *, keep: bool = False) -> Component:
    return Component(name="train", kind="Job", presence=presence, keep=keep)


@pytest.mark.parametrize(
    ("left", "keep", "seconds"),
    [
        ({}, True, 0),
        ({"components": (component(Presence.GONE),)}, True, 0),
        ({"components": (component(Presence.PLANNED),)}, True, 0),
        ({"components": (component(Presence.PRESENT),)}, True, 5),
        ({"components": (component(Presence.DELETING),)}, True, 5),
        ({"components": (component(Presence.UNKNOWN),)}, True, 5),
        ({"components": (component(Presence.PRESENT, keep=True),)}, True, 0),
        ({"components": (component(Presence.PRESENT, keep=True),)}, False, 5),
        ({"labelled_pods": 1}, True, 5),
    ],
)
def test_what_is_gone_already_is_proved_at_once(
    left: dict[str, object], keep: bool, seconds: int
) -> None:
    resetting = Snapshot(phase=Phase.RESETTING, **left)  # type: ignore[arg-type]
    assert begin_deletion(resetting, keep=keep)[-1] == WakeAfter(timedelta(seconds=seconds))
