"""Grace periods and retries: `appwrapper.faultTolerance`.

The keys are the Go operator's. Other names of the same settings are accepted too
(`retryPausePeriod` for `resetPause`, …).
"""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AliasChoices, Field

from shared.api.objects import is_label_key
from shared.config.values import (
    NOT_NEGATIVE,
    POSITIVE,
    GoDuration,
    LabelValue,
    ObjectNameOrEmpty,
    ResourceName,
    Section,
    Size,
    at_least,
    between,
    must,
)

LONGEST_EXTENSION: Final = 0.1
"""The random extension of a retry pause, as a fraction: not all resets continue at once."""


class ErrorAggregation(Section):
    """How the controller finds the root cause of a distributed failure."""

    strategy: Literal["earliest", "default", "off"] = "earliest"
    """`earliest`: the earliest error record decides whether a retry can help. `default`: the
    controller reports the root cause only. `off`: the controller looks for no root cause.
    """
    stores: dict[str, str] = Field(default_factory=dict)
    """The error stores: name to URL. An AppWrapper names a store and cannot contain a URL."""
    settle_period: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(seconds=5)
    """How long the controller waits after a failure before it reads the error records."""
    max_file_bytes: Annotated[Size, at_least(1)] = 2 << 20
    """The largest file of an error store that the controller reads."""
    max_files: Annotated[int, at_least(1)] = 2048
    """The most files of an error store that the controller reads for one attempt."""
    read_timeout: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(seconds=10)
    """How long one read of an error store may take."""
    inject_env: bool = True
    """Whether the controller sets the environment variables that name the error store in wrapped
    pods.
    """
    recorder_image: Annotated[
        str,
        must("be an image, such as HOST/PATH:TAG", lambda text: len(text.split()) == bool(text)),
    ] = ""
    """An image with the recorder in `/app/worker`, such as the controller's own. The controller
    starts the recorder in AppWrappers with the annotation `recorder`. Empty: the webhook refuses
    that annotation.
    """
    # Pods without a message of their own show the end of their log when they fail.
    log_tail: bool = True
    """Whether pods without a termination message report the end of their log on failure
    (`terminationMessagePolicy: FallbackToLogsOnError`).
    """


class FaultToleranceConfig(Section):
    """Grace periods and retries: defaults that annotations can change, and their limits."""

    admission_grace_period: GoDuration = timedelta(minutes=1)
    """How long the creation of all expected pods may take. At most `warmupGracePeriod`."""
    warmup_grace_period: GoDuration = timedelta(minutes=5)
    """How long all expected pods may take to run."""
    failure_grace_period: GoDuration = timedelta(minutes=1)
    """How long a component's own controller has to repair a failure before a reset."""
    # Added by this project.
    unreachable_grace_period: GoDuration = timedelta(minutes=2)
    """How long a node may be unreachable (its condition Ready is `Unknown`) before the controller
    moves the AppWrappers with pods on the node. `0s` switches that off.
    """
    fail_unschedulable: GoDuration = timedelta(0)
    """How long no node may be able to hold a pod before the AppWrapper fails. `0s`: it never fails
    for this reason. Leave it off if an autoscaler can add a larger node.
    """
    retry_pause_period: GoDuration = Field(
        default=timedelta(seconds=90),
        validation_alias=AliasChoices("resetPause", "retryPausePeriod"),
        serialization_alias="resetPause",
    )
    """The pause of a reset between the deletion of all components and their next creation."""
    retry_limit: Annotated[int, between(0, 2**31 - 1)] = 3
    """The number of resets before an AppWrapper fails. From 0 to 2147483647."""
    deletion_on_failure_grace_period: GoDuration = timedelta(0)
    """How long the components of a failed AppWrapper are kept for debugging. They hold their quota
    during that time.
    """
    forceful_deletion_grace_period: GoDuration = Field(
        default=timedelta(minutes=10),
        validation_alias=AliasChoices("deletionGracePeriod", "forcefulDeletionGracePeriod"),
        serialization_alias="deletionGracePeriod",
    )
    """How long a deletion may take before the controller deletes pods with grace period 0, and the
    longest grace period of wrapped pods.
    """
    grace_period_maximum: Annotated[GoDuration, POSITIVE] = Field(
        default=timedelta(hours=24),
        validation_alias=AliasChoices("gracePeriodCeiling", "gracePeriodMaximum"),
        serialization_alias="gracePeriodCeiling",
    )
    """The upper limit of all periods above."""
    success_ttl: Annotated[GoDuration, POSITIVE] = Field(
        default=timedelta(days=7),
        validation_alias=AliasChoices("successTTLCeiling", "successTTL"),
        serialization_alias="successTTLCeiling",
    )
    """How long the components of a successful AppWrapper are kept. Annotations can only shorten
    this time.
    """
    error_aggregation: ErrorAggregation = ErrorAggregation()


# Meanings of Autopilot's node labels: `appwrapper.autopilot`.


class Taint(Section):
    """A value of a node label that makes a resource of the node unfit."""

    key: Annotated[str, must("be the key of a node label", is_label_key)]
    """The key of a node label."""
    value: LabelValue = ""
    """The label's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """`NoSchedule`: new pods avoid the node. `PreferNoSchedule`: new pods avoid the node where
    possible. `NoExecute`: running pods leave the node too.
    """


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

    inject_anti_affinities: bool = True
    """Whether wrapped pods get node affinities that avoid nodes with the labels of
    `resourceTaints`.
    """
    monitor_nodes: bool = True
    """Whether the controller watches nodes: for evacuations, the slack queue and node metrics."""
    resource_taints: Annotated[
        dict[ResourceName, tuple[Taint, ...]],
        AfterValidator(lambda given: {**_default_taints(), **given}),
    ] = Field(default_factory=_default_taints)
    """Resource name to a list of node labels with effects. A list replaces the default's list of
    that resource; the default's other resources stay. An empty list switches the resource off.
    """
    prefer_no_schedule_weight: Annotated[int, between(1, 100)] = 50
    """The weight of the preference that `PreferNoSchedule` adds. From 1 to 100."""


# Limits against simultaneous failures of many AppWrappers and nodes.


class SlackQueue(Section):
    """The ClusterQueue whose lending limits follow the schedulable capacity."""

    name: ObjectNameOrEmpty = ""
    """The name of the ClusterQueue. Empty: the controller adjusts no lending limit. Short form:
    `slackQueueName` in `appwrapper`.
    """
    dry_run: bool = False
    """Whether the controller reports changes of lending limits by Events only."""


class NodeHealth(Section):
    """How long a node stays suspect."""

    latch: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(0)
    """How long a node stays evacuated after its label with effect `NoExecute` is gone. `0s`
    switches the latch off.
    """
    # Autopilot's longest test takes about 15 minutes; its next periodic run overwrites the label.
    testing_timeout: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(hours=2)
    """After this time in `TESTING` the controller reports the node, and counts the node as
    unschedulable whatever the label's effect.
    """


class ResetRateLimit(Section):
    """The rate of resets in the whole cluster."""

    per_second: Annotated[
        float, must("be more than 0 (pauseResets stops resets)", lambda rate: rate > 0)
    ] = 5.0
    """How many resets per second may begin in the long run. More than 0."""
    burst: Annotated[int, at_least(1)] = 100
    """How many resets may begin at once. At least 1."""


class EvacuationBreaker(Section):
    """When evacuations wait for an admin: too many nodes turned `NoExecute` within a window."""

    percent: Annotated[int, between(1, 100)] = 20
    """The breaker opens when more than this percentage of a resource's nodes turn `NoExecute`. From
    1 to 100.
    """
    minimum_nodes: Annotated[int, at_least(1)] = 10
    """The breaker never opens for a resource with fewer nodes. At least 1."""
    window: Annotated[GoDuration, POSITIVE] = timedelta(minutes=10)
    """The time in which the nodes are counted."""
