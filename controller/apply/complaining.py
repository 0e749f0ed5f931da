"""Tells of annotations that mean nothing, on AppWrappers that no webhook has seen."""

import logging
from typing import Final

from controller.annotation_complaints import complaints
from shared.api.appwrapper import AppWrapper
from shared.api.names import API_VERSION, KIND
from shared.config.fault_tolerance import FaultTolerance
from shared.kube.events import EventRecorder, ObjectReference
from shared.logs import object_fields

logger = logging.getLogger(__name__)

REASON: Final = "InvalidAnnotation"


class Complainer:
    """Each complaint is told once, as a Warning event, for as long as it stands."""

    def __init__(self, recorder: EventRecorder, config: FaultTolerance) -> None:
        self._recorder = recorder
        self._config = config
        self._told: dict[str, frozenset[str]] = {}  # by AppWrapper UID

    def look(self, appwrapper: AppWrapper) -> None:
        """To be called whenever it may have changed. Cheap, and never raises."""
        if not appwrapper.is_ours:
            return
        found = frozenset(complaints(appwrapper, self._config))
        new = found - self._told.get(appwrapper.uid, frozenset())
        if found:
            self._told[appwrapper.uid] = found
        else:
            self._told.pop(appwrapper.uid, None)
        about = ObjectReference(
            API_VERSION, KIND, appwrapper.namespace, appwrapper.name, appwrapper.uid
        )
        fields = object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid, reason=REASON)
        for complaint in sorted(new):
            self._recorder.warning(about, REASON, complaint)
            logger.warning("%s", complaint, extra=fields)

    def forget(self, uid: str) -> None:
        """The AppWrapper is gone."""
        self._told.pop(uid, None)
