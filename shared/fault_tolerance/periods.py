"""The periods that an annotation can change, each with its default and its limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from shared.api.names import ANNOTATION_PREFIX
from shared.config.fault_tolerance import FaultTolerance
from shared.durations import DurationError, format_duration, parse_duration
from shared.fault_tolerance.annotation_error import AnnotationError

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
