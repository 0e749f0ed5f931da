"""The operator's configuration and an AppWrapper's annotations, as effective values. Pure.

The webhook warns of and refuses bad values; whatever it let pass is put within its limits here
(specification 1).
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from controller.phases.fault_tolerance import FaultTolerance
from shared.api.names import ANNOTATION_PREFIX
from shared.config.fault_tolerance import FaultTolerance as Defaults
from shared.durations import DurationError, parse_duration

_NONE = timedelta(0)
# Exit codes are of 32 bits. Whatever an annotation says must not keep us from looking: then nobody
# could suspend or delete the AppWrapper any more.
_CODE: Final = re.compile(r"[-+]?[0-9]{1,10}")


def effective_fault_tolerance(annotations: Mapping[str, str], defaults: Defaults) -> FaultTolerance:
    """Malformed values mean the default, negative ones zero, too large ones the limit."""
    given = {
        key.removeprefix(ANNOTATION_PREFIX): value
        for key, value in annotations.items()
        if key.startswith(ANNOTATION_PREFIX)
    }

    def period(key: str, default: timedelta) -> timedelta:
        asked = _duration(given.get(key))
        return max(_NONE, min(default if asked is None else asked, defaults.grace_period_maximum))

    return FaultTolerance(
        admission_grace=period("admissionGracePeriodDuration", defaults.admission_grace_period),
        warmup_grace=period("warmupGracePeriodDuration", defaults.warmup_grace_period),
        failure_grace=period("failureGracePeriodDuration", defaults.failure_grace_period),
        retry_pause=period("retryPausePeriodDuration", defaults.retry_pause_period),
        retry_limit=_retry_limit(given.get("retryLimit"), defaults.retry_limit),
        deletion_on_failure_grace=period(
            "deletionOnFailureGracePeriodDuration", defaults.deletion_on_failure_grace_period
        ),
        forceful_deletion_grace=period(
            "forcefulDeletionGracePeriodDuration", defaults.forceful_deletion_grace_period
        ),
        success_ttl=_success_ttl(given.get("successTTLDuration"), defaults.success_ttl),
        terminal_exit_codes=_exit_codes(given.get("terminalExitCodes")),
        retryable_exit_codes=_exit_codes(given.get("retryableExitCodes")),
    )


def _duration(text: str | None) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except DurationError:
        return None


def _retry_limit(text: str | None, default: int) -> int:
    try:
        return max(0, int(text)) if text is not None else default
    except ValueError:
        return default


def _success_ttl(text: str | None, ceiling: timedelta) -> timedelta:
    """Annotations can only shorten it, and not to nothing."""
    asked = _duration(text)
    return asked if asked is not None and _NONE < asked < ceiling else ceiling


def _exit_codes(text: str | None) -> frozenset[int]:
    """Comma separated, parsed as the Go operator does: what is no number is skipped."""
    parts = (text or "").split(",")
    return frozenset(int(part) for part in parts if _CODE.fullmatch(part))
