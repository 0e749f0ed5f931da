"""What an AppWrapper's annotations ask for in vain, and what counts instead. Pure.

The webhook refuses such values; this is for AppWrappers that it has not seen.
"""

from collections.abc import Iterator
from typing import Final

from controller.kept_components import asks_to_be_kept, may_have_pods
from shared.api.appwrapper import AppWrapper
from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.api.json import JsonObject
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from shared.config.fault_tolerance import FaultTolerance
from shared.durations import format_duration
from shared.fault_tolerance.annotation_error import AnnotationError
from shared.fault_tolerance.annotations import (
    ERROR_AGGREGATION,
    ERROR_STORE,
    KEYS,
    RETRY_LIMIT,
    check_value,
)
from shared.fault_tolerance.exit_codes import read_exit_codes
from shared.fault_tolerance.periods import PERIODS
from shared.fault_tolerance.retry_limit import read_retry_limit

_PERIODS: Final = {period.key: period for period in PERIODS}
_MOST_CODES: Final = 10  # that are named, of a list that anybody may make as long as they like


def complaints(appwrapper: AppWrapper, config: FaultTolerance) -> Iterator[str]:
    """One sentence for each annotation, of it or of a component, that cannot mean what it says."""
    given = appwrapper.annotations
    for key in KEYS:
        if (text := given.get(key)) is None:
            continue
        try:
            check_value(key, text, config)
            _check_limit(key, text, config)
        except AnnotationError as error:
            detail = f"{error}; instead, {_instead(key, text, config)}"
            path = f"metadata.annotations[{key}]"
            yield str(FieldError(path, FieldErrorKind.INVALID, detail, quoted(text)))
    for index, component in enumerate(appwrapper.components):
        if component.get("annotations"):
            yield from _of_component(f"spec.components[{index}].annotations", component)


def _check_limit(key: str, text: str, config: FaultTolerance) -> None:
    """Raises AnnotationError."""
    if (period := _PERIODS.get(key)) is None:
        return
    limit = period.limit(config)
    if period.parse(text) > limit:
        raise AnnotationError(f"must be at most {format_duration(limit)}, the operator's limit")


def _instead(key: str, text: str, config: FaultTolerance) -> str:
    """What the controller makes of a value that it does not like."""
    if period := _PERIODS.get(key):
        return f"{format_duration(period.read({key: text}, config))} counts"
    if key == RETRY_LIMIT:
        return f"{read_retry_limit(text, config.retry_limit)} counts"
    if key == ERROR_AGGREGATION:
        return f"{config.error_aggregation.strategy} counts"
    if key == ERROR_STORE:
        return "none is used"
    codes = ",".join(map(str, sorted(read_exit_codes(text))[:_MOST_CODES]))
    return f"{codes} count" if codes else "none counts"


def _of_component(path: str, component: JsonObject) -> Iterator[str]:
    annotations: dict[str, str] = component["annotations"]
    for key in (ANNOTATION_HELPER, ANNOTATION_KEEP):
        text = annotations.get(key, "false")
        if text not in ("true", "false"):
            detail = 'must be "true" or "false"; instead, false counts'
            yield str(FieldError(f"{path}[{key}]", FieldErrorKind.INVALID, detail, quoted(text)))
    if asks_to_be_kept(component) and may_have_pods(component):
        detail = "only a component without pods can be kept; instead, it goes with every reset"
        yield str(FieldError(f"{path}[{ANNOTATION_KEEP}]", FieldErrorKind.FORBIDDEN, detail))
