"""Warn of an AppWrapper's invalid annotations, and of the values that the controller uses instead.

The webhook rejects such annotations, so these are on AppWrappers that the webhook has not seen.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from controller.facts.kept_components import asks_to_be_kept, may_have_pods
from controller.memory.memory import Memory
from shared.annotations import Annotation, AnnotationError, table_for
from shared.api.appwrapper import AppWrapper
from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from shared.api.objects import JsonObject
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultToleranceConfig
from shared.kube.events import EventRecorder, ObjectReference
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)

_MOST_CODES: Final = 10  # exit codes in a warning: users may write lists of any length


def annotation_warnings(appwrapper: AppWrapper, config: FaultToleranceConfig) -> Iterator[str]:
    """Yield one warning for each invalid annotation of the AppWrapper or of a component."""
    given = appwrapper.annotations
    for each in table_for(appwrapper.labels):
        if (text := given.get(each.key)) is None:
            continue
        try:
            each.parse(text, config)
            each.check_limit(text, config)
        except AnnotationError as error:
            detail = f"{error}; the controller uses {_instead(each, given, config)}"
            path = f"metadata.annotations[{each.key}]"
            yield str(FieldError(path, FieldErrorKind.INVALID, detail, quoted(text)))
    for index, component in enumerate(appwrapper.components):
        if component.get("annotations"):
            yield from _of_component(f"spec.components[{index}].annotations", component)


def _instead(
    annotation: Annotation[Any], given: Mapping[str, str], config: FaultToleranceConfig
) -> str:
    """Return the value that the controller uses in place of an invalid one."""
    match annotation.read(given, config):
        case timedelta() as period:
            return format_duration(period)
        case frozenset() as listed:
            return ",".join(map(str, sorted(listed)[:_MOST_CODES])) or "none"
        case "":
            return "none"
        case value:
            return str(value)


def _of_component(path: str, component: JsonObject) -> Iterator[str]:
    annotations: dict[str, str] = component["annotations"]
    for key in (ANNOTATION_HELPER, ANNOTATION_KEEP):
        text = annotations.get(key, "false")
        if text not in ("true", "false"):
            detail = 'must be "true" or "false"; the controller uses false'
            yield str(FieldError(f"{path}[{key}]", FieldErrorKind.INVALID, detail, quoted(text)))
    if asks_to_be_kept(component) and may_have_pods(component):
        detail = "only a component without pods can be kept; every reset deletes this one"
        yield str(FieldError(f"{path}[{ANNOTATION_KEEP}]", FieldErrorKind.FORBIDDEN, detail))


REASON: Final = "InvalidAnnotation"


class AnnotationWarner:
    """Emits each annotation warning once, as a Warning Event, while it applies."""

    def __init__(
        self, recorder: EventRecorder, config: FaultToleranceConfig, memory: Memory
    ) -> None:
        self._recorder = recorder
        self._config = config
        self._memory = memory

    def evaluate(self, appwrapper: AppWrapper) -> None:
        """Check an AppWrapper that may have changed. Fast, and never raises."""
        if not appwrapper.is_ours:
            return
        found = frozenset(annotation_warnings(appwrapper, self._config))
        reported = self._memory.known(appwrapper.uid).annotation_warnings
        if found != reported:
            self._memory.of(appwrapper.uid).annotation_warnings = found
        about = ObjectReference.to(appwrapper)
        fields = object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid, reason=REASON)
        for complaint in sorted(found - reported):
            self._recorder.warning(about, REASON, complaint)
            logger.warning("%s", complaint, extra=fields)
