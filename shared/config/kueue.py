"""Compute Kueue's settings for this configuration: how long pods may take to become ready.

Kueue evicts a Workload whose pods are not ready for `waitForPodsReady.timeout` after its admission,
or for `recoveryTimeout` after they were ready (on by default from Kueue 0.19, 30 minutes each).
That ends an attempt without a counted retry, so both must be longer than all attempts together.
"""

from datetime import timedelta
from math import ceil
from typing import Final

from shared.api.objects import JsonObject
from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import LONGEST_EXTENSION

# After the deletion grace period the controller forces the deletion: pods, then components, each a
# few seconds.
_FORCED: Final = timedelta(minutes=1)
_FOREVER: Final = timedelta(days=36_500)
_STEP: Final = timedelta(minutes=10)
# Kueue counts from its admission, shortly before the attempt starts. Both need time to react.
_MARGIN: Final = timedelta(minutes=2)


def longest_unready(
    *,
    admission: timedelta,
    warmup: timedelta,
    flap: timedelta,
    failure: timedelta,
    deletion: timedelta,
    retry_pause: timedelta,
    retry_limit: int,
    deletion_on_failure: timedelta,
) -> timedelta:
    """Return the longest time from admission until Succeeded, or Failed with all pods gone.

    The AppWrapper's pods are never ready, and its deletions take as long as they may. Waits without
    a limit are not included: pods that come and go; evacuations, which use no retry; a reset that
    waits for an admin's pauseResets, the evacuation breaker or the rate limit; a deletion that
    another client's finalizer blocks. The result has whole seconds, at most a hundred years.
    """
    attempt = max(admission, warmup) + flap + failure
    removal = deletion + _FORCED
    again = removal + (1 + LONGEST_EXTENSION) * retry_pause + attempt
    # The configuration allows 2,000 million retries, and years for each.
    if retry_limit > _FOREVER / again:
        return _FOREVER
    longest = attempt + retry_limit * again + deletion_on_failure + removal
    return min(_FOREVER, timedelta(seconds=ceil(longest.total_seconds())))


def longest_by_default(behaviour: AppWrapperConfig) -> timedelta:
    """Return `longest_unready` of an AppWrapper without annotations."""
    periods = behaviour.fault_tolerance
    return longest_unready(
        admission=periods.admission_grace_period,
        warmup=periods.warmup_grace_period,
        flap=behaviour.flap_period,
        failure=periods.failure_grace_period,
        deletion=periods.forceful_deletion_grace_period,
        retry_pause=periods.retry_pause_period,
        retry_limit=periods.retry_limit,
        deletion_on_failure=periods.deletion_on_failure_grace_period,
    )


def wait_for_pods_ready(behaviour: AppWrapperConfig) -> JsonObject:
    """Return Kueue's `waitForPodsReady`: the periods plus a margin, up to the next ten minutes."""
    needed = longest_by_default(behaviour) + _MARGIN
    timeout = format_duration(-(-needed // _STEP) * _STEP)
    return {"timeout": timeout, "recoveryTimeout": timeout}
