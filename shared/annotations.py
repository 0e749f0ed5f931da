"""The table of annotations that change an AppWrapper's fault tolerance, for both binaries.

Each value has two readers. `parse…` is strict, for the webhook, and explains what it refuses.
`read…` never fails, for the controller: it must also handle an AppWrapper that no webhook has
checked. Both give the same meaning to every value that the strict one accepts. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from shared.api.names import ANNOTATION_PREFIX, LABEL_MAX_EXEC_TIME
from shared.api.times import DurationError, format_duration, parse_duration

if TYPE_CHECKING:
    from shared.config.fault_tolerance import FaultToleranceConfig


class AnnotationError(ValueError):
    """Raised with a valid value's description, as the end of `Invalid value: "x": …`."""


# Lists of exit codes: `terminalExitCodes`, `retryableExitCodes`.

# The exit codes of a failed container on Linux.
_FIRST: Final = 1
_LAST: Final = 255
_CODE: Final = re.compile(r"[+-]?[0-9]{1,10}")  # 32 bits; longer texts cost time to read
_CODES_EXPECTED: Final = (
    f"must be exit codes from {_FIRST} to {_LAST} with commas between them, such as 3,10,42"
)


def parse_exit_codes(text: str) -> frozenset[int]:
    """Read `3,10, 42`, with or without blanks around a code. Raise AnnotationError.

    An empty list is refused: as retryable codes, a user could read it as "none of them".
    """
    parts = [part.strip(" ") for part in text.split(",")]
    if not all(_CODE.fullmatch(part) for part in parts):
        raise AnnotationError(_CODES_EXPECTED)
    codes = frozenset(int(part) for part in parts)
    if not all(_FIRST <= code <= _LAST for code in codes):
        raise AnnotationError(_CODES_EXPECTED)
    return codes


def read_exit_codes(text: str) -> frozenset[int]:
    """Read the same; skip parts that are no number, as the Go operator does."""
    parts = (part.strip(" ") for part in text.split(","))
    return frozenset(int(part) for part in parts if _CODE.fullmatch(part))


# How often an AppWrapper may be reset: `retryLimit`.

MOST_RETRIES: Final = 2**31 - 1  # status.resettingCount is an int32

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")  # longer texts cost time to read
_LIMIT_EXPECTED: Final = f"must be a whole number from 0 to {MOST_RETRIES}, such as 5"


def parse_retry_limit(text: str) -> int:
    """Read `5`. Raise AnnotationError."""
    limit = _number(text)
    if limit is None or not 0 <= limit <= MOST_RETRIES:
        raise AnnotationError(_LIMIT_EXPECTED)
    return limit


def read_retry_limit(text: str, default: int) -> int:
    """Read the same: the default for a text that is no number, the nearest bound otherwise."""
    limit = _number(text)
    return default if limit is None else max(0, min(limit, MOST_RETRIES))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


# How the controller finds a failure's root cause: `errorAggregation`, `errorStore`.

# As in ErrorAggregation, whose import is too slow for short commands; a test compares both.
STRATEGIES: Final = ("earliest", "default", "off")


def _parse_strategy(text: str, _config: FaultToleranceConfig) -> str:
    if text not in STRATEGIES:
        raise AnnotationError("must be earliest, default or off")
    return text


def _parse_store(text: str, config: FaultToleranceConfig) -> str:
    stores = config.error_aggregation.stores
    if not stores:
        raise AnnotationError("the operator's configuration has no error store; leave it out")
    if text not in stores:
        raise AnnotationError(f"must name a configured error store: {', '.join(sorted(stores))}")
    return text


# Whether the controller starts the recorder: `recorder`.


def _parse_recorder(text: str, config: FaultToleranceConfig) -> bool:
    if text not in ("true", "false"):
        raise AnnotationError('must be "true" or "false"')
    if text == "true" and not config.error_aggregation.recorder_image:
        raise AnnotationError(
            "the operator's configuration names no image of the recorder; leave it out, or ask an"
            " admin to set faultTolerance.errorAggregation.recorderImage"
        )
    return text == "true"


# Durations: the periods.

_ZERO: Final = timedelta(0)


def _parse_period(text: str, _config: FaultToleranceConfig, *, may_be_zero: bool) -> timedelta:
    """Return any duration that is not too short, without its limit. Raise AnnotationError.

    A negative duration is an error, not a zero: no user intends it.
    """
    try:
        duration = parse_duration(text)
    except DurationError as error:
        raise AnnotationError("must be a duration such as 90s, 1h30m or 7d") from error
    if duration < _ZERO:
        raise AnnotationError("must not be negative")
    if duration == _ZERO and not may_be_zero:
        raise AnnotationError("must be longer than 0s")
    return duration


# The rows of the table.

T = TypeVar("T")
_Of = Callable[["FaultToleranceConfig"], T]  # the operator's configuration


@dataclass(frozen=True, slots=True)
class Annotation(Generic[T]):
    """One annotation of an AppWrapper; its `name` has no prefix.

    `sets` is the field of the controller's FaultToleranceConfig that it sets. `parse` is strict and
    raises AnnotationError; it ignores limits, since a policy decides what happens above them.
    `lenient` reads any text, given the default. Without `lenient`, a text that `parse` refuses
    means the default.
    """

    name: str
    sets: str
    default: _Of[T]
    parse: Callable[[str, FaultToleranceConfig], T]
    lenient: Callable[[str, T], T] | None = None

    @property
    def key(self) -> str:
        """Return the name with its prefix."""
        return ANNOTATION_PREFIX + self.name

    def check_limit(self, text: str, config: FaultToleranceConfig) -> None:
        """Raise AnnotationError above the limit, if there is one. `parse` must accept `text`."""

    def read(self, annotations: Mapping[str, str], config: FaultToleranceConfig) -> T:
        """Return the effective value for any annotations."""
        default, text = self.default(config), annotations.get(self.key)
        if text is None:
            return default
        if self.lenient is not None:
            return self.lenient(text, default)
        try:
            return self.parse(text, config)
        except AnnotationError:
            return default


@dataclass(frozen=True, slots=True)
class Period(Annotation[timedelta]):
    """A duration in [0, limit], or in (0, limit] unless `may_be_zero`."""

    limit: _Of[timedelta] = field(kw_only=True)
    may_be_zero: bool = field(kw_only=True)
    # The limit's source besides the configuration, as the end of a message.
    because: str = field(kw_only=True, default="")

    def check_limit(self, text: str, config: FaultToleranceConfig) -> None:
        """Raise AnnotationError above the operator's limit."""
        limit = self.limit(config)
        if self.parse(text, config) > limit:
            most = f"must be at most {format_duration(limit)}, the operator's limit{self.because}"
            raise AnnotationError(most)

    def read(self, annotations: Mapping[str, str], config: FaultToleranceConfig) -> timedelta:
        """Return the effective value: the default if malformed, the nearest bound if out of range.

        If zero is out of range, there is no nearest bound, and the default applies.
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
    """A period as stored: `text` means `duration`. `lowered`: the user requested more."""

    text: str
    duration: timedelta
    lowered: bool


def admitted(period: Period, text: str, config: FaultToleranceConfig) -> Admitted:
    """Return the stored form of `text` under the policy Clamp. Raise AnnotationError.

    Above the limit this is the limit. Days become hours, because the Go operator does not know
    days; any other text stays as the user wrote it.
    """
    asked, limit = period.parse(text, config), period.limit(config)
    if asked > limit:
        return Admitted(format_duration(limit), limit, lowered=True)
    return Admitted(format_duration(asked) if "d" in text else text, asked, lowered=False)


def _period(
    name: str,
    sets: str,
    default: _Of[timedelta],
    limit: _Of[timedelta] = lambda config: config.grace_period_maximum,
    *,
    may_be_zero: bool = True,
    because: str = "",
) -> Period:
    parse = partial(_parse_period, may_be_zero=may_be_zero)
    return Period(name, sets, default, parse, limit=limit, may_be_zero=may_be_zero, because=because)


def _exit_codes(name: str, sets: str) -> Annotation[frozenset[int]]:
    """Make a row without a default: the configuration has no exit codes."""
    return Annotation(
        name,
        sets,
        lambda _: frozenset(),
        lambda text, _: parse_exit_codes(text),
        lambda text, _: read_exit_codes(text),
    )


# The table: every annotation of an AppWrapper that changes its fault tolerance, in the order of
# reported errors. Annotations of a component (`helper`, `keep`) and of a pod set are not in it:
# `shared.api.names` has them.

_FORCEFUL_DELETION_GRACE: Final = _period(
    "forcefulDeletionGracePeriodDuration",
    "forceful_deletion_grace",
    lambda config: config.forceful_deletion_grace_period,
)
# Kueue does not count the terminating pods of an AppWrapper that is being deleted, or that ends by
# a time limit of Kueue. So these pods run for at most the operator's own period.
_OPERATORS_DELETION_GRACE: Final = _period(
    _FORCEFUL_DELETION_GRACE.name,
    _FORCEFUL_DELETION_GRACE.sets,
    _FORCEFUL_DELETION_GRACE.default,
    lambda config: min(config.forceful_deletion_grace_period, config.grace_period_maximum),
    because=f" with the label {LABEL_MAX_EXEC_TIME}",
)

LONGEST_POD_GRACE: Final = _OPERATORS_DELETION_GRACE
"""Limits the grace period of each pod: a kubelet keeps the one that it received first."""

TABLE: Final[tuple[Annotation[Any], ...]] = (
    _period(
        "admissionGracePeriodDuration",
        "admission_grace",
        lambda config: config.admission_grace_period,
    ),
    _period("warmupGracePeriodDuration", "warmup_grace", lambda config: config.warmup_grace_period),
    _period(
        "failureGracePeriodDuration", "failure_grace", lambda config: config.failure_grace_period
    ),
    _period(
        "unreachableGracePeriodDuration",
        "unreachable_grace",
        lambda config: config.unreachable_grace_period,
    ),
    # Zero: never.
    _period(
        "failUnschedulableDuration",
        "fail_unschedulable",
        lambda config: config.fail_unschedulable,
    ),
    _period("retryPausePeriodDuration", "retry_pause", lambda config: config.retry_pause_period),
    _period(
        "deletionOnFailureGracePeriodDuration",
        "deletion_on_failure_grace",
        lambda config: config.deletion_on_failure_grace_period,
    ),
    _FORCEFUL_DELETION_GRACE,
    # The operator's own value is both default and limit: an annotation can only shorten it.
    _period(
        "successTTLDuration",
        "success_ttl",
        lambda config: config.success_ttl,
        lambda config: config.success_ttl,
        may_be_zero=False,
    ),
    Annotation(
        "retryLimit",
        "retry_limit",
        lambda config: config.retry_limit,
        lambda text, _: parse_retry_limit(text),
        read_retry_limit,
    ),
    _exit_codes("terminalExitCodes", "terminal_exit_codes"),
    _exit_codes("retryableExitCodes", "retryable_exit_codes"),
    Annotation(
        "errorAggregation",
        "error_aggregation",
        lambda config: config.error_aggregation.strategy,
        _parse_strategy,
    ),
    Annotation("errorStore", "error_store", lambda _: "", _parse_store),
    Annotation("recorder", "recorder", lambda _: False, _parse_recorder),
)

PERIODS: Final = tuple(each for each in TABLE if isinstance(each, Period))
KEYS: Final = tuple(each.key for each in TABLE)


_WITHOUT_QUOTA: Final = tuple(
    _OPERATORS_DELETION_GRACE if each is _FORCEFUL_DELETION_GRACE else each for each in TABLE
)


def table_for(
    labels: Mapping[str, object], *, is_being_deleted: bool = False
) -> tuple[Annotation[Any], ...]:
    """Return TABLE with the limits of an AppWrapper with these labels."""
    return _WITHOUT_QUOTA if is_being_deleted or LABEL_MAX_EXEC_TIME in labels else TABLE


def periods_for(labels: Mapping[str, object]) -> tuple[Period, ...]:
    """Return PERIODS with the limits of an AppWrapper with these labels."""
    return tuple(each for each in table_for(labels) if isinstance(each, Period))
