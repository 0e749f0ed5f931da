"""Grace periods and retries: `appwrapper.faultTolerance`.

The keys are the Go operator's; the seeds' names of the same things are accepted too
(`retryPausePeriod` for `resetPause`, …).
"""

from datetime import timedelta
from typing import Literal

from pydantic import AliasChoices, Field

from shared.config.values import GoDuration, Section, Size


class ErrorAggregation(Section):
    """How the root cause of a distributed failure is found."""

    strategy: Literal["earliest", "default"] = "earliest"
    # Name -> URL. An AppWrapper names a store; it can never give a URL of its own.
    stores: dict[str, str] = Field(default_factory=dict)
    settle_period: GoDuration = timedelta(seconds=5)
    skew_tolerance: GoDuration = timedelta(0)
    max_file_bytes: Size = 2 << 20
    max_files: int = 2048
    read_timeout: GoDuration = timedelta(seconds=10)
    inject_env: bool = True


class FaultTolerance(Section):
    """The defaults of what annotations change per AppWrapper, and the limits of those."""

    # For the expected number of pods to exist.
    admission_grace_period: GoDuration = timedelta(minutes=1)
    # For the expected number of pods to run.
    warmup_grace_period: GoDuration = timedelta(minutes=5)
    # For the component's own controller to heal a failure.
    failure_grace_period: GoDuration = timedelta(minutes=1)
    # Between the removal of everything and its next creation.
    retry_pause_period: GoDuration = Field(
        default=timedelta(seconds=90),
        validation_alias=AliasChoices("resetPause", "retryPausePeriod"),
        serialization_alias="resetPause",
    )
    retry_limit: int = 3
    # Between Failed and the removal of what failed, for debugging. It holds quota.
    deletion_on_failure_grace_period: GoDuration = timedelta(0)
    # Before pods are deleted with grace period 0.
    forceful_deletion_grace_period: GoDuration = Field(
        default=timedelta(minutes=10),
        validation_alias=AliasChoices("deletionGracePeriod", "forcefulDeletionGracePeriod"),
        serialization_alias="deletionGracePeriod",
    )
    # The upper limit of all periods above.
    grace_period_maximum: GoDuration = Field(
        default=timedelta(hours=24),
        validation_alias=AliasChoices("gracePeriodCeiling", "gracePeriodMaximum"),
        serialization_alias="gracePeriodCeiling",
    )
    # How long a successful AppWrapper keeps its resources; annotations can only shorten it.
    success_ttl: GoDuration = Field(
        default=timedelta(days=7),
        validation_alias=AliasChoices("successTTLCeiling", "successTTL"),
        serialization_alias="successTTLCeiling",
    )
    error_aggregation: ErrorAggregation = ErrorAggregation()
