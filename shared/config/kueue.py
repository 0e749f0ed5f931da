"""What Kueue must be told to fit our periods: how long pods may take until they are ready.

Kueue evicts a Workload whose pods are not ready for `waitForPodsReady.timeout` after its admission,
or for `recoveryTimeout` after they were (on by default from Kueue 0.19, 30 minutes each). That ends
an attempt without a retry being counted, so both must be longer than all our attempts together.
"""

from datetime import timedelta
from typing import Final

from shared.api.objects import JsonObject
from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig

LONGEST_EXTENSION: Final = 0.1  # of a retry pause: each is up to so much longer, by chance
# What is over its deletion grace period is forced: pods, then components, each a few seconds.
_FORCED: Final = timedelta(minutes=1)
_FOREVER: Final = timedelta(days=36_500)
_STEP: Final = timedelta(minutes=10)


def longest_unready(
    *,
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
    in it is what has no end of its own: pods that come and go, a reset that waits (for an admin's
    pauseResets, the evacuation breaker, its turn), and a deletion that somebody's finalizer blocks.
    A hundred years at most.
    """
    attempt = warmup + flap + failure
    removal = deletion + _FORCED
    again = removal + (1 + LONGEST_EXTENSION) * retry_pause + attempt
    # Two thousand million retries are allowed, and years for each.
    if retry_limit > _FOREVER / again:
        return _FOREVER
    return min(_FOREVER, attempt + retry_limit * again + deletion_on_failure + removal)


def longest_by_default(behaviour: AppWrapperConfig) -> timedelta:
    """`longest_unready` of an AppWrapper without annotations."""
    periods = behaviour.fault_tolerance
    return longest_unready(
        warmup=periods.warmup_grace_period,
        flap=behaviour.flap_period,
        failure=periods.failure_grace_period,
        deletion=periods.forceful_deletion_grace_period,
        retry_pause=periods.retry_pause_period,
        retry_limit=periods.retry_limit,
        deletion_on_failure=periods.deletion_on_failure_grace_period,
    )


def wait_for_pods_ready(behaviour: AppWrapperConfig) -> JsonObject:
    """`waitForPodsReady` of Kueue's configuration: the next ten minutes above our own periods."""
    timeout = format_duration((longest_by_default(behaviour) // _STEP + 1) * _STEP)
    return {"timeout": timeout, "recoveryTimeout": timeout}
