"""Report decisions: Events on the AppWrapper, and log lines.

An Event has the reason of the condition, except NonRecoverableError: the program itself recorded
that no retry can help. Each Event costs the API server a write, so none reports an action of the
user, nor what Kueue's Events report: Started, FinishedWorkload. An AppWrapper without trouble has
none. Events may quote users' texts; the log never does.
"""

import logging
from collections.abc import Sequence
from typing import Final

from controller.apply.metrics import Meter
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation
from controller.phases.actions import Action, Actions, MoveTo, RecordRootCause, SetCondition, Warn
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, event_text
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.objects import JsonObject
from shared.kube.events import EventRecorder, EventType, ObjectReference
from shared.process.logs import object_fields
from shared.waits.words import listed

logger = logging.getLogger(__name__)

NORMAL, WARNING = EventType.NORMAL, EventType.WARNING

# The phases whose beginning is reported, with the type and text of the Event.
EVENTS_OF_PHASES: Final = {
    Phase.RESUMING: (NORMAL, "the pause is over; creating its components again"),
    Phase.SUSPENDING: (NORMAL, "suspended; deleting its components"),
    Phase.RESETTING: (WARNING, "unhealthy; deleting its components before another attempt"),
    Phase.FAILED: (WARNING, "failed"),
}
# Conditions whose change is reported, unless a change of phase has the same reason. Unhealthy with
# status True is reported with any reason.
EVENTS_OF_CONDITIONS: Final = {
    (CONDITION_UNHEALTHY, False, Reason.NO_FAILED_PODS): (NORMAL, "healthy again"),
    (CONDITION_RESOURCES_DEPLOYED, True, Reason.CREATE_FAILED): (
        WARNING,
        "cannot create its components",
    ),
    (CONDITION_RESOURCES_DEPLOYED, True, Reason.COMPONENT_UNREADABLE): (
        WARNING,
        "not all of its components can be read",
    ),
    (CONDITION_QUOTA_RESERVED, False, Reason.QUEUE_UNUSABLE): (WARNING, "cannot start"),
    (CONDITION_QUOTA_RESERVED, False, Reason.NO_WORKLOAD): (WARNING, "cannot start"),
    (CONDITION_UNHEALTHY, True, Reason.REASSIGNMENT): (WARNING, "waits for other nodes"),
    (CONDITION_PODS_READY, False, Reason.INSUFFICIENT_PODS_READY): (
        WARNING,
        "not all of its pods run any more",
    ),
    # Reported only after the condition of the entry above.
    (CONDITION_PODS_READY, True, Reason.SUFFICIENT_PODS_READY): (NORMAL, "all of its pods run"),
}


_UNEXPECTED: Final = (
    "objects appeared after their attempt had ended, probably by a late create; the controller "
    "deletes them"
)
_MOST_OBJECTS: Final = 5  # named in one Event


class Teller:
    """Reports decisions. No method fails or waits."""

    def __init__(self, recorder: EventRecorder, meter: Meter) -> None:
        self._recorder = recorder
        self._meter = meter

    def tell(self, observation: Observation, actions: Actions) -> None:
        """Report and measure the decision on `observation`. Call after the status write."""
        self._meter.measure(observation, actions)
        reported: set[Reason] = set()
        recorded = any(
            isinstance(each, RecordRootCause) and each.non_recoverable for each in actions
        )
        for action in sorted(actions, key=_rank):
            match action:
                case MoveTo():
                    reason = Reason.NON_RECOVERABLE if recorded else action.reason
                    self._tell_move(observation.appwrapper, action, reason, reported)
                case RecordRootCause():
                    self._tell_root_cause(observation.appwrapper, action, reported)
                case Warn(reason, message, logged):
                    self._tell(observation.appwrapper, WARNING, reason, message, reported, logged)
                case SetCondition():
                    self._tell_condition(observation.appwrapper, action, reported)
                case _:
                    pass

    def swept(self, appwrapper: AppWrapper, objects: Sequence[DeployedObject]) -> None:
        """Report unexpected objects whose deletes the API server accepted."""
        self._meter.swept(len(objects))
        names = [f"{each.resource.kind} {each.name} of attempt {each.attempt}" for each in objects]
        message = f"{_UNEXPECTED}: {listed(names, _MOST_OBJECTS)}"
        self._tell(appwrapper, WARNING, Reason.UNEXPECTED, message, set())

    def _tell_move(
        self, appwrapper: AppWrapper, move: MoveTo, reason: Reason, reported: set[Reason]
    ) -> None:
        if (event := EVENTS_OF_PHASES.get(move.phase)) is None or move.reason is Reason.RESUMING:
            return
        kind, text = event
        # The move has a log line of its own.
        self._record(appwrapper, kind, reason, _sentence(text, move.message), reported)
        reported.add(move.reason)

    def _tell_root_cause(
        self, appwrapper: AppWrapper, action: RecordRootCause, reported: set[Reason]
    ) -> None:
        """Emit one Event per attempt that failed; the log line of the move has the root cause."""
        if action.decision is Decision.NONE:
            return
        message = event_text(action.root_cause, action.consequence)
        self._record(appwrapper, WARNING, Reason.ROOT_CAUSE, message, reported)

    def _tell_condition(
        self, appwrapper: AppWrapper, action: SetCondition, reported: set[Reason]
    ) -> None:
        old = condition(appwrapper.conditions, action.type) or {}
        if action.reason in reported or not _is_news(old, action):
            return
        if action.type == CONDITION_UNHEALTHY and _is_about_the_pause(appwrapper, old, action):
            return
        if action.type == CONDITION_PODS_READY and reported:
            return  # an Event of this decision has reported why
        event = EVENTS_OF_CONDITIONS.get((action.type, action.status, action.reason))
        if action.reason is Reason.NAMESPACE_ENDING:
            # The API server accepts no Event in a namespace that is being deleted.
            _log(appwrapper, WARNING, action.reason, action.message)
        if event is None and action.type == CONDITION_UNHEALTHY and action.status:
            event = (WARNING, "unhealthy")
        if event is not None:
            message = _sentence(event[1], action.message)
            logged = None if action.logged is None else _sentence(event[1], action.logged)
            self._tell(appwrapper, event[0], action.reason, message, reported, logged)

    def _tell(
        self,
        appwrapper: AppWrapper,
        kind: EventType,
        reason: Reason,
        message: str,
        reported: set[Reason],
        logged: str | None = None,
    ) -> None:
        _log(appwrapper, kind, reason, message if logged is None else logged)
        self._record(appwrapper, kind, reason, message, reported)

    def _record(
        self,
        appwrapper: AppWrapper,
        kind: EventType,
        reason: Reason,
        message: str,
        reported: set[Reason],
    ) -> None:
        tell = self._recorder.warning if kind is WARNING else self._recorder.normal
        tell(ObjectReference.to(appwrapper), reason.value, message)
        reported.add(reason)


def _log(appwrapper: AppWrapper, kind: EventType, reason: Reason, message: str) -> None:
    logger.log(
        logging.WARNING if kind is WARNING else logging.INFO,
        "%s",
        message,
        extra=object_fields(
            appwrapper.namespace,
            appwrapper.name,
            appwrapper.uid,
            phase=appwrapper.status.get("phase") or "",
            reason=reason.value,
        ),
    )


def _rank(action: Action) -> int:
    """Sort changes of the phase and warnings first: conditions then need not repeat them."""
    if not isinstance(action, SetCondition):
        return 0
    return 2 if action.type == CONDITION_PODS_READY else 1


def _is_news(old: JsonObject, action: SetCondition) -> bool:
    """True if the condition changes. PodsReady True is news only after pods were lost."""
    status = "True" if action.status else "False"
    if (action.type, action.status) == (CONDITION_PODS_READY, True):
        return old.get("reason") == Reason.INSUFFICIENT_PODS_READY
    return (old.get("status"), old.get("reason"), old.get("message") or "") != (
        status,
        action.reason.value,
        action.message,
    )


def _is_about_the_pause(appwrapper: AppWrapper, old: JsonObject, action: SetCondition) -> bool:
    """True if nothing but the time of the next attempt is new. The reset had its Event."""
    resetting = appwrapper.status.get("phase") == Phase.RESETTING
    return resetting and (old.get("status"), old.get("reason")) == ("True", action.reason.value)


def _sentence(text: str, message: str) -> str:
    return f"{text}: {message}" if message else text
