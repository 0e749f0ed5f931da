"""When an AppWrapper entered its phase, as far as its stored status shows it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from controller.facts.own_status import known_phase
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, transition_time
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.times import parse_time

_METADATA: Final[Mapping[Phase, str]] = {
    Phase.EMPTY: "creationTimestamp",
    Phase.TERMINATING: "deletionTimestamp",
}
# The condition that turns to this status when the phase is entered; the first that has it counts.
# Resetting reports its deletion, and after that its pause.
_CONDITIONS: Final[Mapping[Phase, tuple[tuple[str, str], ...]]] = {
    Phase.SUSPENDED: ((CONDITION_QUOTA_RESERVED, "False"),),
    Phase.RESUMING: ((CONDITION_RESOURCES_DEPLOYED, "True"),),
    Phase.RUNNING: ((CONDITION_RESOURCES_DEPLOYED, "True"),),
    Phase.RESETTING: ((CONDITION_DELETING_RESOURCES, "True"), (CONDITION_UNHEALTHY, "True")),
    Phase.SUSPENDING: ((CONDITION_DELETING_RESOURCES, "True"),),
    Phase.SUCCEEDED: ((CONDITION_QUOTA_RESERVED, "False"),),
    Phase.FAILED: ((CONDITION_UNHEALTHY, "True"),),
}


def phase_began(appwrapper: AppWrapper) -> datetime | None:
    """Return when the phase was entered, to whole seconds; None if the status does not show it.

    Some times are earlier than the entry: Running counts from Resuming. Failed, and the pause of
    Resetting, count from the failure, which may have had a grace period. Suspending counts from the
    reset that it interrupted.
    """
    phase = known_phase(appwrapper)
    if phase is None:
        return None
    if (field := _METADATA.get(phase)) is not None:
        text = appwrapper.metadata.get(field)
        return parse_time(text) if text else None
    for kind, status in _CONDITIONS[phase]:
        if (condition(appwrapper.conditions, kind) or {}).get("status") == status:
            return transition_time(appwrapper.conditions, kind)
    return None
