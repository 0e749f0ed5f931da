"""How patient the controller is with one AppWrapper: its periods, its retries, its exit codes."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTolerance:
    """Effective values: the operator's configuration, overridden by the AppWrapper's annotations.

    `retryable_exit_codes` empty means that every code not listed as terminal may be retried.
    """

    admission_grace: timedelta = timedelta(minutes=1)
    warmup_grace: timedelta = timedelta(minutes=5)
    failure_grace: timedelta = timedelta(minutes=1)
    retry_pause: timedelta = timedelta(seconds=90)
    retry_limit: int = 3
    deletion_on_failure_grace: timedelta = timedelta(0)
    forceful_deletion_grace: timedelta = timedelta(minutes=10)
    success_ttl: timedelta = timedelta(days=7)
    terminal_exit_codes: frozenset[int] = frozenset()
    retryable_exit_codes: frozenset[int] = frozenset()
    # The rest is the operator's alone.
    # How long a pod that crashed in place must run before it counts again.
    stability_period: timedelta = timedelta(seconds=30)
    settle_period: timedelta = timedelta(seconds=5)  # flapping.py says what these two do
    flap_period: timedelta = timedelta(seconds=75)
