"""The operator's configuration and an AppWrapper's annotations, as effective values. Pure.

The webhook warns of and refuses bad values; whatever it let pass is put within its limits here
(specification 1).
"""

from controller.facts.retry_pause import spread_out
from controller.phases.fault_tolerance import FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import AppWrapperConfig
from shared.fault_tolerance import periods
from shared.fault_tolerance.annotations import (
    RETRY_LIMIT,
    RETRYABLE_EXIT_CODES,
    TERMINAL_EXIT_CODES,
)
from shared.fault_tolerance.exit_codes import read_exit_codes
from shared.fault_tolerance.retry_limit import read_retry_limit


def effective_fault_tolerance(appwrapper: AppWrapper, config: AppWrapperConfig) -> FaultTolerance:
    """Malformed values mean the default, negative ones zero, too large ones the limit.

    The pause between this attempt and the next is spread out a little beyond that.
    """
    annotations, defaults = appwrapper.annotations, config.fault_tolerance
    retry_pause = periods.RETRY_PAUSE.read(annotations, defaults)
    return FaultTolerance(
        admission_grace=periods.ADMISSION_GRACE.read(annotations, defaults),
        warmup_grace=periods.WARMUP_GRACE.read(annotations, defaults),
        failure_grace=periods.FAILURE_GRACE.read(annotations, defaults),
        retry_pause=spread_out(retry_pause, appwrapper.uid, appwrapper.attempt),
        retry_limit=read_retry_limit(annotations.get(RETRY_LIMIT), defaults.retry_limit),
        deletion_on_failure_grace=periods.DELETION_ON_FAILURE_GRACE.read(annotations, defaults),
        forceful_deletion_grace=periods.FORCEFUL_DELETION_GRACE.read(annotations, defaults),
        success_ttl=periods.SUCCESS_TTL.read(annotations, defaults),
        terminal_exit_codes=read_exit_codes(annotations.get(TERMINAL_EXIT_CODES)),
        retryable_exit_codes=read_exit_codes(annotations.get(RETRYABLE_EXIT_CODES)),
        stability_period=config.stability_period,
        settle_period=config.settle_period,
        flap_period=config.flap_period,
    )
