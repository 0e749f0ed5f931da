"""Grace periods and retries: `appwrapper.faultTolerance`.

The keys are the Go operator's; the seeds' names of the same things are accepted too
(`retryPausePeriod` for `resetPause`, …).
"""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AliasChoices, Field

from shared.config.values import GoDuration, Section, Size

LONGEST_EXTENSION: Final = 0.1
"""Of a retry pause: each is up to so much longer, by chance, so that not all start at once."""


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


# What Autopilot's node labels mean: `appwrapper.autopilot`.


class Taint(Section):
    """A value of a node label that makes a resource of the node unfit."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


def _default_taints() -> dict[str, tuple[Taint, ...]]:
    # ERR and EVICT are MLBatch's; TESTING and WARN are what Autopilot writes today besides.
    key = "autopilot.ibm.com/gpuhealth"
    return {
        "nvidia.com/gpu": (
            Taint(key=key, value="ERR", effect="NoSchedule"),
            Taint(key=key, value="TESTING", effect="NoSchedule"),
            Taint(key=key, value="EVICT", effect="NoExecute"),
            Taint(key=key, value="WARN", effect="PreferNoSchedule"),
        )
    }


class Autopilot(Section):
    """Which node labels keep pods away, and which drive running pods off."""

    inject_anti_affinities: bool = True
    monitor_nodes: bool = True
    # Resource name -> taints. A configured resource replaces the default's list for that resource;
    # other resources keep theirs, as in the Go operator. An empty list switches a resource off.
    resource_taints: Annotated[
        dict[str, tuple[Taint, ...]], AfterValidator(lambda given: {**_default_taints(), **given})
    ] = Field(default_factory=_default_taints)
    prefer_no_schedule_weight: int = 50


# What keeps many AppWrappers and nodes from failing together.


class SlackQueue(Section):
    """The ClusterQueue whose lending follows the schedulable capacity; no name switches it off."""

    name: str = ""
    dry_run: bool = False


class NodeHealth(Section):
    """How long a node stays suspect."""

    # After a label with effect NoExecute is gone; 0s switches the latch off.
    latch: GoDuration = timedelta(0)
    # After that long in TESTING a node is reported, and counts as unschedulable whatever the
    # label's effect. Autopilot's longest test takes about 15 minutes; its next periodic run
    # overwrites the label.
    testing_timeout: GoDuration = timedelta(hours=2)


class ResetRateLimit(Section):
    """Resets of the whole cluster: at most `burst` at once, refilled at `per_second`."""

    per_second: float = 5.0
    burst: int = 100


class EvacuationBreaker(Section):
    """Opens when more than `percent` of at least `minimum_nodes` turn NoExecute in `window`."""

    percent: int = 20
    minimum_nodes: int = 10
    window: GoDuration = timedelta(minutes=10)
