"""Tells people what was decided: Events on the AppWrapper, and the count of phases entered.

The reason of an Event is that of the condition. Only what its reader did not do themselves is worth
an Event, since each costs the API server a write.
"""

from typing import Final, Protocol

from controller.phases.actions import Actions, MoveTo, Warn
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.names import API_VERSION, KIND
from shared.kube.events import EventRecorder, ObjectReference

_TOLD: Final = {
    Phase.RESUMING: "admitted; creating its components",
    Phase.SUCCEEDED: "succeeded",
    Phase.SUSPENDING: "suspended; deleting its components",
    Phase.RESETTING: "unhealthy; deleting its components before another attempt",
    Phase.FAILED: "failed",
}
_TROUBLE: Final = frozenset({Phase.RESETTING, Phase.FAILED})


class PhaseObserver(Protocol):
    """Counts phases, for metrics."""

    def entered(self, namespace: str, phase: Phase) -> None:
        """An AppWrapper entered a phase."""
        ...


class Teller:
    """Nothing here can fail, or delay a decision."""

    def __init__(self, recorder: EventRecorder, phases: PhaseObserver) -> None:
        self._recorder = recorder
        self._phases = phases

    def tell(self, appwrapper: AppWrapper, actions: Actions) -> None:
        """To be called once the status is written."""
        about = ObjectReference(
            API_VERSION, KIND, appwrapper.namespace, appwrapper.name, appwrapper.uid
        )
        for action in actions:
            match action:
                case MoveTo():
                    self._phases.entered(appwrapper.namespace, action.phase)
                    self._tell_move(about, action)
                case Warn(reason, message):
                    self._recorder.warning(about, reason.value, message)
                case _:
                    pass

    def _tell_move(self, about: ObjectReference, move: MoveTo) -> None:
        if (text := _TOLD.get(move.phase)) is None:
            return
        message = f"{text}: {move.message}" if move.message else text
        tell = self._recorder.warning if move.phase in _TROUBLE else self._recorder.normal
        tell(about, move.reason.value, message)
