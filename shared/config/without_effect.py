"""Settings without the effect that they promise. They are valid, and cause a warning."""

from collections.abc import Iterable, Iterator
from typing import Final

from shared.config.configuration import Configuration
from shared.config.keys import KeyPath

_OF_NODES: Final[tuple[KeyPath, ...]] = (
    ("appwrapper", "slackQueue", "name"),
    ("appwrapper", "nodeHealth"),
    ("appwrapper", "evacuationBreaker"),
)
_OF_AFFINITIES: Final[tuple[KeyPath, ...]] = (
    ("appwrapper", "autopilot", "preferNoScheduleWeight"),
)
_OF_THE_QUEUE: Final[tuple[KeyPath, ...]] = (("appwrapper", "defaultQueueNameOnDirectKinds"),)
_SUSPECTS: Final[KeyPath] = ("appwrapper", "suspectNodes")


def without_effect(
    config: Configuration, written: Iterable[KeyPath]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each setting in a file that has no effect, and why."""
    appwrapper = config.appwrapper
    switches = (
        (_OF_NODES, not appwrapper.autopilot.monitor_nodes, "autopilot.monitorNodes is false"),
        (
            _OF_AFFINITIES,
            not appwrapper.autopilot.inject_anti_affinities,
            "autopilot.injectAntiAffinities is false",
        ),
        (_OF_THE_QUEUE, not appwrapper.default_queue_name, "defaultQueueName is empty"),
    )
    found = [(paths, why) for paths, is_off, why in switches if is_off]
    for path in written:
        if path == _SUSPECTS and appwrapper.suspect_nodes == "Required":
            yield path, "Required acts as Preferred"
        for paths, why in found:
            if any(path[: len(each)] == each for each in paths):
                yield path, f"no effect: {why}"
