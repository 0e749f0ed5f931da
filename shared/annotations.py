"""Annotations that change an AppWrapper's fault tolerance: how each is read, within which limits.

Each kind of value is read in two ways. `parse_…` is strict, for the webhook: what it refuses, it
explains. `read_…` never fails, for the controller: an AppWrapper that no webhook has seen must be
looked after all the same. What the strict one accepts means the same to both. Pure.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, get_args

from shared.api.names import ANNOTATION_PREFIX
from shared.api.times import DurationError, format_duration, parse_duration
from shared.config.fault_tolerance import ErrorAggregation, FaultTolerance

# A value that an annotation cannot have.


class AnnotationError(ValueError):
    """The message says what a right value looks like, as the end of `Invalid value: "x": …`."""


# Lists of exit codes: `terminalExitCodes`, `retryableExitCodes`.

# What a container on Linux can end with, other than well.
_FIRST: Final = 1
_LAST: Final = 255
_CODE: Final = re.compile(r"[+-]?[0-9]{1,10}")  # 32 bits; what is longer costs time to read
_CODES_EXPECTED: Final = (
    f"must be exit codes from {_FIRST} to {_LAST} with commas between them, such as 3,10,42"
)


def parse_exit_codes(text: str) -> frozenset[int]:
    """`3,10, 42`, blanks around a code or not. Raises AnnotationError.

    An empty list is refused: as retryable codes, some would take it for "none of them".
    """
    parts = [part.strip(" ") for part in text.split(",")]
    if not all(_CODE.fullmatch(part) for part in parts):
        raise AnnotationError(_CODES_EXPECTED)
    codes = frozenset(int(part) for part in parts)
    if not all(_FIRST <= code <= _LAST for code in codes):
        raise AnnotationError(_CODES_EXPECTED)
    return codes


def read_exit_codes(text: str | None) -> frozenset[int]:
    """The same; what is no number is skipped, as the Go operator does."""
    parts = (part.strip(" ") for part in (text or "").split(","))
    return frozenset(int(part) for part in parts if _CODE.fullmatch(part))


# How often an AppWrapper may be reset: `retryLimit`.

MOST_RETRIES: Final = 2**31 - 1  # status.resettingCount is an int32

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")  # what is longer costs time to read
_LIMIT_EXPECTED: Final = f"must be a whole number from 0 to {MOST_RETRIES}, such as 5"


def parse_retry_limit(text: str) -> int:
    """`5`. Raises AnnotationError."""
    limit = _number(text)
    if limit is None or not 0 <= limit <= MOST_RETRIES:
        raise AnnotationError(_LIMIT_EXPECTED)
    return limit


def read_retry_limit(text: str | None, default: int) -> int:
    """The same; what is no number means the default, what is out of range its nearest end."""
    limit = None if text is None else _number(text)
    return default if limit is None else max(0, min(limit, MOST_RETRIES))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


# The periods that an annotation can change, each with its default and its limit.

_ZERO: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Period:
    """One of them. `key` is the annotation's, prefix included.

    It lies in [0, limit], or in (0, limit] unless `may_be_zero`.
    """

    key: str
    default: Callable[[FaultTolerance], timedelta]
    limit: Callable[[FaultTolerance], timedelta]
    may_be_zero: bool = True

    def parse(self, text: str) -> timedelta:
        """Any duration that is not too short; the limit is not looked at. Raises AnnotationError.

        A negative one is an error, not a zero: nobody means it.
        """
        try:
            duration = parse_duration(text)
        except DurationError as error:
            raise AnnotationError("must be a duration such as 90s, 1h30m or 7d") from error
        if duration < _ZERO:
            raise AnnotationError("must not be negative")
        if duration == _ZERO and not self.may_be_zero:
            raise AnnotationError("must be longer than 0s")
        return duration

    def read(self, annotations: Mapping[str, str], config: FaultTolerance) -> timedelta:
        """The effective value: malformed means the default, out of range its nearest end.

        Where zero is out of range there is no nearest end: the default it is.
        """
        default, limit = self.default(config), self.limit(config)
        text = annotations.get(self.key)
        try:
            asked = default if text is None else parse_duration(text)
        except DurationError:
            asked = default
        if asked <= _ZERO and not self.may_be_zero:
            asked = default
        return max(_ZERO, min(asked, limit))


@dataclass(frozen=True, slots=True)
class Admitted:
    """A period as it is stored: `text` means `duration`. `lowered`: more was asked for."""

    text: str
    duration: timedelta
    lowered: bool


def admitted(period: Period, text: str, config: FaultTolerance) -> Admitted:
    """What becomes of `text` under the policy Clamp. Raises AnnotationError.

    The limit where it asks for more. Days are written as hours, because only we know days; any
    other text stays as the user wrote it.
    """
    asked, limit = period.parse(text), period.limit(config)
    if asked > limit:
        return Admitted(format_duration(limit), limit, lowered=True)
    return Admitted(format_duration(asked) if "d" in text else text, asked, lowered=False)


def _period(name: str, default: Callable[[FaultTolerance], timedelta]) -> Period:
    return Period(ANNOTATION_PREFIX + name, default, lambda config: config.grace_period_maximum)


ADMISSION_GRACE: Final = _period(
    "admissionGracePeriodDuration", lambda config: config.admission_grace_period
)
WARMUP_GRACE: Final = _period(
    "warmupGracePeriodDuration", lambda config: config.warmup_grace_period
)
FAILURE_GRACE: Final = _period(
    "failureGracePeriodDuration", lambda config: config.failure_grace_period
)
RETRY_PAUSE: Final = _period("retryPausePeriodDuration", lambda config: config.retry_pause_period)
DELETION_ON_FAILURE_GRACE: Final = _period(
    "deletionOnFailureGracePeriodDuration",
    lambda config: config.deletion_on_failure_grace_period,
)
FORCEFUL_DELETION_GRACE: Final = _period(
    "forcefulDeletionGracePeriodDuration",
    lambda config: config.forceful_deletion_grace_period,
)
# The operator's own value is both default and limit: an annotation can only shorten it.
SUCCESS_TTL: Final = Period(
    ANNOTATION_PREFIX + "successTTLDuration",
    lambda config: config.success_ttl,
    lambda config: config.success_ttl,
    may_be_zero=False,
)

PERIODS: Final = (
    ADMISSION_GRACE,
    WARMUP_GRACE,
    FAILURE_GRACE,
    RETRY_PAUSE,
    DELETION_ON_FAILURE_GRACE,
    FORCEFUL_DELETION_GRACE,
    SUCCESS_TTL,
)


# Every annotation of an AppWrapper that changes its fault tolerance, and how its value is
# checked.
#
# Annotations of a component (`helper`, `keep`) and of a pod set are others: see
# `shared.api.names`.

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
