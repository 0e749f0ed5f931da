"""What Kueue must be told to fit our periods: how long pods may take until they are ready.

Kueue evicts a Workload whose pods are not ready for `waitForPodsReady.timeout` after its admission,
or for `recoveryTimeout` after they were (on by default from Kueue 0.19, 30 minutes each). That ends
an attempt without a retry being counted, so both must be longer than all our attempts together.
"""

from datetime import timedelta
from math import ceil
from typing import Final

from shared.api.objects import JsonObject
from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import LONGEST_EXTENSION

# What is over its deletion grace period is forced: pods, then components, each a few seconds.
_FORCED: Final = timedelta(minutes=1)
_FOREVER: Final = timedelta(days=36_500)
_STEP: Final = timedelta(minutes=10)
# Kueue counts from its admission on, a little before we begin, and both need time to hear and act.
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
    """The longest time from admission until Succeeded, or Failed with all its pods gone.

    Of an AppWrapper whose pods are never ready, and whose deletions take as long as they may. Not
    in it is what has no end of its own: pods that come and go; evacuations, which spend no retry; a
    reset that waits for an admin's pauseResets, the evacuation breaker or its turn; a deletion that
    somebody's finalizer blocks. In whole seconds, a hundred years at most.
    """
    attempt = max(admission, warmup) + flap + failure
    removal = deletion + _FORCED
    again = removal + (1 + LONGEST_EXTENSION) * retry_pause + attempt
    # Two thousand million retries are allowed, and years for each.
    if retry_limit > _FOREVER / again:
        return _FOREVER
    longest = attempt + retry_limit * again + deletion_on_failure + removal
    return min(_FOREVER, timedelta(seconds=ceil(longest.total_seconds())))


def longest_by_default(behaviour: AppWrapperConfig) -> timedelta:
    """`longest_unready` of an AppWrapper without annotations."""
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
    """`waitForPodsReady` of Kueue's configuration: the next ten minutes well above our periods."""
    needed = longest_by_default(behaviour) + _MARGIN
    timeout = format_duration(-(-needed // _STEP) * _STEP)
    return {"timeout": timeout, "recoveryTimeout": timeout}
