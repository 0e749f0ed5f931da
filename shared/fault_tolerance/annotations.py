"""Every annotation of an AppWrapper that changes its fault tolerance, and how its value is checked.

Annotations of a component (`helper`, `keep`) and of a pod set are others: see `shared.api.names`.
"""

from collections.abc import Callable, Mapping
from typing import Final, get_args

from shared.api.names import ANNOTATION_PREFIX
from shared.config.fault_tolerance import ErrorAggregation, FaultTolerance
from shared.fault_tolerance.annotation_error import AnnotationError
from shared.fault_tolerance.exit_codes import parse_exit_codes
from shared.fault_tolerance.periods import PERIODS, Period
from shared.fault_tolerance.retry_limit import parse_retry_limit

RETRY_LIMIT: Final = ANNOTATION_PREFIX + "retryLimit"
TERMINAL_EXIT_CODES: Final = ANNOTATION_PREFIX + "terminalExitCodes"
RETRYABLE_EXIT_CODES: Final = ANNOTATION_PREFIX + "retryableExitCodes"
ERROR_AGGREGATION: Final = ANNOTATION_PREFIX + "errorAggregation"
ERROR_STORE: Final = ANNOTATION_PREFIX + "errorStore"

STRATEGIES: Final[tuple[str, ...]] = get_args(ErrorAggregation.model_fields["strategy"].annotation)


def check_value(key: str, text: str, config: FaultTolerance) -> None:
    """Whether the annotation `key`, one of `KEYS`, can be `text`. Raises AnnotationError.

    Limits of periods are not looked at: what happens above them is for a policy to say.
    """
    _CHECKS[key](text, config)


def _check_of(period: Period) -> Callable[[str, FaultTolerance], object]:
    return lambda text, _: period.parse(text)


def _check_strategy(text: str, _config: FaultTolerance) -> None:
    if text not in STRATEGIES:
        raise AnnotationError(f"must be {' or '.join(STRATEGIES)}")


def _check_store(text: str, config: FaultTolerance) -> None:
    stores = config.error_aggregation.stores
    if not stores:
        raise AnnotationError("the operator's configuration has no error store; leave it out")
    if text not in stores:
        raise AnnotationError(f"must name a configured error store: {', '.join(sorted(stores))}")


_CHECKS: Final[Mapping[str, Callable[[str, FaultTolerance], object]]] = {
    **{period.key: _check_of(period) for period in PERIODS},
    RETRY_LIMIT: lambda text, _: parse_retry_limit(text),
    TERMINAL_EXIT_CODES: lambda text, _: parse_exit_codes(text),
    RETRYABLE_EXIT_CODES: lambda text, _: parse_exit_codes(text),
    ERROR_AGGREGATION: _check_strategy,
    ERROR_STORE: _check_store,
}

KEYS: Final = tuple(_CHECKS)
