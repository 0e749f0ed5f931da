from typing import Any

import pytest

from controller.apply.telling import Teller
from controller.phases.actions import Action, MoveTo, Reason, RequeueAfter, Warn
from controller.phases.deadlines import ZERO
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.kube.events import ObjectReference

APPWRAPPER = AppWrapper(
    {"metadata": {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}}
)
ABOUT = ObjectReference("workload.codeflare.dev/v1beta2", "AppWrapper", "team1", "train", "u1")


class Heard:
    """Recorder and metrics in one."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.phases: list[tuple[str, Phase]] = []

    def normal(self, about: ObjectReference, reason: str, message: str) -> None:
        assert about == ABOUT
        self.events.append(("Normal", reason, message))

    def warning(self, about: ObjectReference, reason: str, message: str) -> None:
        assert about == ABOUT
        self.events.append(("Warning", reason, message))

    def entered(self, namespace: str, phase: Phase) -> None:
        self.phases.append((namespace, phase))


@pytest.mark.parametrize(
    ("action", "event", "phase"),
    [
        (
            MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
            ("Normal", "Succeeded", "succeeded"),
            Phase.SUCCEEDED,
        ),
        (
            MoveTo(Phase.FAILED, Reason.MISSING_COMPONENT, "Job a"),
            ("Warning", "MissingComponent", "failed: Job a"),
            Phase.FAILED,
        ),
        (MoveTo(Phase.RUNNING, Reason.DEPLOYED), None, Phase.RUNNING),
        (Warn(Reason.DELETION_BLOCKED, "2 pods"), ("Warning", "DeletionBlocked", "2 pods"), None),
        (RequeueAfter(ZERO), None, None),
    ],
)
def test_what_people_hear(
    action: Action, event: tuple[str, str, str] | None, phase: Phase | None
) -> None:
    heard: Any = Heard()
    Teller(heard, heard).tell(APPWRAPPER, (action,))
    assert heard.events == ([event] if event else [])
    assert heard.phases == ([("team1", phase)] if phase else [])
