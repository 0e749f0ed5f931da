"""Grace periods and retries: `appwrapper.faultTolerance`.

The keys are the Go operator's. Other names of the same settings are accepted too
(`retryPausePeriod` for `resetPause`, …).
"""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AliasChoices, Field

from shared.config.values import GoDuration, Section, Size

LONGEST_EXTENSION: Final = 0.1
"""The random extension of a retry pause, as a fraction: not all resets continue at once."""


class ErrorAggregation(Section):
    """How the controller finds the root cause of a distributed failure."""

    strategy: Literal["earliest", "default", "off"] = Field(
        default="earliest",
        description=(
            "`earliest`: the earliest error record decides whether a retry can help. "
            "`default`: the controller reports the root cause only. `off`: the controller "
            "looks for no root cause."
        ),
    )
    stores: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "The error stores: name to URL. An AppWrapper names a store and cannot contain a URL."
        ),
    )
    settle_period: GoDuration = Field(
        default=timedelta(seconds=5),
        description=(
            "How long the controller waits after a failure before it reads the error records."
        ),
    )
    max_file_bytes: Size = Field(
        default=2 << 20,
        description="The largest file of an error store that the controller reads.",
    )
    max_files: int = Field(
        default=2048,
        description="The most files of an error store that the controller reads for one attempt.",
    )
    read_timeout: GoDuration = Field(
        default=timedelta(seconds=10),
        description="How long one read of an error store may take.",
    )
    inject_env: bool = Field(
        default=True,
        description=(
            "Whether the controller sets the environment variables that name the error "
            "store in wrapped pods."
        ),
    )
    # Pods without a message of their own show the end of their log when they fail.
    log_tail: bool = Field(
        default=True,
        description=(
            "Whether pods without a termination message report the end of their log on "
            "failure (`terminationMessagePolicy: FallbackToLogsOnError`)."
        ),
    )


class FaultToleranceConfig(Section):
    """Grace periods and retries: defaults that annotations can change, and their limits."""

    admission_grace_period: GoDuration = Field(
        default=timedelta(minutes=1),
        description=(
            "How long the creation of all expected pods may take. At most `warmupGracePeriod`."
        ),
    )
    warmup_grace_period: GoDuration = Field(
        default=timedelta(minutes=5),
        description="How long all expected pods may take to run.",
    )
    failure_grace_period: GoDuration = Field(
        default=timedelta(minutes=1),
        description=(
            "How long a component's own controller has to repair a failure before a reset."
        ),
    )
    retry_pause_period: GoDuration = Field(
        default=timedelta(seconds=90),
        validation_alias=AliasChoices("resetPause", "retryPausePeriod"),
        serialization_alias="resetPause",
        description=(
            "The pause of a reset between the deletion of all components and their next creation."
        ),
    )
    retry_limit: int = Field(
        default=3,
        description="The number of resets before an AppWrapper fails. From 0 to 2147483647.",
    )
    deletion_on_failure_grace_period: GoDuration = Field(
        default=timedelta(0),
        description=(
            "How long the components of a failed AppWrapper are kept for debugging. They "
            "hold their quota during that time."
        ),
    )
    forceful_deletion_grace_period: GoDuration = Field(
        default=timedelta(minutes=10),
        validation_alias=AliasChoices("deletionGracePeriod", "forcefulDeletionGracePeriod"),
        serialization_alias="deletionGracePeriod",
        description=(
            "How long a deletion may take before the controller deletes pods with grace period 0, "
            "and the longest grace period of wrapped pods."
        ),
    )
    grace_period_maximum: GoDuration = Field(
        default=timedelta(hours=24),
        validation_alias=AliasChoices("gracePeriodCeiling", "gracePeriodMaximum"),
        serialization_alias="gracePeriodCeiling",
        description="The upper limit of all periods above.",
    )
    success_ttl: GoDuration = Field(
        default=timedelta(days=7),
        validation_alias=AliasChoices("successTTLCeiling", "successTTL"),
        serialization_alias="successTTLCeiling",
        description=(
            "How long the components of a successful AppWrapper are kept. Annotations can "
            "only shorten this time."
        ),
    )
    error_aggregation: ErrorAggregation = ErrorAggregation()


# Meanings of Autopilot's node labels: `appwrapper.autopilot`.


class Taint(Section):
    """A value of a node label that makes a resource of the node unfit."""

    key: str = Field(description="The key of a node label.")
    value: str = Field(default="", description="The label's value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        description=(
            "`NoSchedule`: new pods avoid the node. `PreferNoSchedule`: new pods avoid the node "
            "where possible. `NoExecute`: running pods leave the node too."
        )
    )


def _default_taints() -> dict[str, tuple[Taint, ...]]:
    # ERR and EVICT are MLBatch's values; Autopilot today also writes TESTING and WARN.
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
    """Which node labels keep new pods away, and which evacuate running pods."""

    inject_anti_affinities: bool = Field(
        default=True,
        description=(
            "Whether wrapped pods get node affinities that avoid nodes with the labels of "
            "`resourceTaints`."
        ),
    )
    monitor_nodes: bool = Field(
        default=True,
        description=(
            "Whether the controller watches nodes: for evacuations, the slack queue and "
            "node metrics."
        ),
    )
    resource_taints: Annotated[
        dict[str, tuple[Taint, ...]], AfterValidator(lambda given: {**_default_taints(), **given})
    ] = Field(
        default_factory=_default_taints,
        description=(
            "Resource name to a list of node labels with effects. A list replaces the default's "
            "list of that resource; the default's other resources stay. An empty list switches the "
            "resource off."
        ),
    )
    prefer_no_schedule_weight: int = Field(
        default=50,
        description="The weight of the preference that `PreferNoSchedule` adds. From 1 to 100.",
    )


# Limits against simultaneous failures of many AppWrappers and nodes.


class SlackQueue(Section):
    """The ClusterQueue whose lending limits follow the schedulable capacity."""

    name: str = Field(
        default="",
        description=(
            "The name of the ClusterQueue. Empty: the controller adjusts no lending "
            "limit. Short form: `slackQueueName` in `appwrapper`."
        ),
    )
    dry_run: bool = Field(
        default=False,
        description="Whether the controller reports changes of lending limits by Events only.",
    )


class NodeHealth(Section):
    """How long a node stays suspect."""

    latch: GoDuration = Field(
        default=timedelta(0),
        description=(
            "How long a node stays evacuated after its label with effect `NoExecute` is "
            "gone. `0s` switches the latch off."
        ),
    )
    # Autopilot's longest test takes about 15 minutes; its next periodic run overwrites the label.
    testing_timeout: GoDuration = Field(
        default=timedelta(hours=2),
        description=(
            "After this time in `TESTING` the controller reports the node, and counts the "
            "node as unschedulable whatever the label's effect."
        ),
    )


class ResetRateLimit(Section):
    """The rate of resets in the whole cluster."""

    per_second: float = Field(
        default=5.0,
        description="How many resets per second may begin in the long run. More than 0.",
    )
    burst: int = Field(
        default=100,
        description="How many resets may begin at once. At least 1.",
    )


class EvacuationBreaker(Section):
    """When evacuations wait for an admin: too many nodes turned `NoExecute` within a window."""

    percent: int = Field(
        default=20,
        description=(
            "The breaker opens when more than this percentage of a resource's nodes turn "
            "`NoExecute`. From 1 to 100."
        ),
    )
    minimum_nodes: int = Field(
        default=10,
        description="The breaker never opens for a resource with fewer nodes. At least 1.",
    )
    window: GoDuration = Field(
        default=timedelta(minutes=10),
        description="The time in which the nodes are counted.",
    )
