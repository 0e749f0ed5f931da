"""The reasons in conditions, events, metrics and logs, each with its meaning.

The table of reasons in docs/users/phases.md is generated from them.
"""

from enum import StrEnum


class Reason(StrEnum):
    """Machines read the value; `meaning` is for users."""

    _value_: str
    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> "Reason":
        """Create a member from its value and its meaning."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.meaning = meaning
        return reason

    SUSPENDED = "Suspended", "it waits for quota from Kueue, or a user suspended it"
    RESUMING = "Resuming", "its components are being created"
    DEPLOYED = "ComponentsCreated", "all its components were created"
    SUSPENDING = "Suspending", "it was suspended while it held resources: they are deleted"
    SUCCEEDED = "Succeeded", "its components have succeeded"
    TERMINATING = "Terminating", "it is being deleted"
    RETRY_PAUSE_OVER = "RetryPauseOver", "the pause after a reset is over: the next attempt begins"
    CREATE_FAILED = "CreateFailed", "a component cannot be created"
    COMPONENT_UNREADABLE = (
        "ComponentUnreadable",
        "a component cannot be read; the AppWrapper keeps running",
    )
    MISSING_COMPONENT = "MissingComponent", "another client deleted a component"
    FAILED_COMPONENT = "FailedComponent", "a component reports that it failed"
    FAILED_PODS = "FoundFailedPods", "pods failed and were not replaced"
    AUTOPILOT_NO_EXECUTE = (
        "AutopilotNoExecute",
        "a node's label evacuates the pods that use a resource of the node",
    )
    DEVICE_TAINTED = (
        "DeviceTainted",
        "a device that pods of the AppWrapper hold has a taint with effect NoExecute",
    )
    NODE_UNREACHABLE = (
        "NodeUnreachable",
        "a node with pods of the AppWrapper did not answer for its unreachable grace period, or was"
        " removed",
    )
    INSUFFICIENT_PODS_READY = "InsufficientPodsReady", "too few pods exist, or run"
    UNSCHEDULABLE = "Unschedulable", "no node can hold one of its pods"
    SUFFICIENT_PODS_READY = "SufficientPodsReady", "as many pods run or succeeded as expected"
    NO_FAILED_PODS = "FoundNoFailedPods", "it healed before its failure grace period was over"
    RESETTING = "Resetting", "its components are deleted before another attempt"
    RESET_THROTTLED = "ResetThrottled", "its reset waits because resets in the cluster are paced"
    RESETS_PAUSED = "ResetsPaused", "its reset waits because an admin stopped all resets"
    EVACUATION_HELD = (
        "EvacuationBreakerOpen",
        "its evacuation waits: so many nodes turned bad at once that an admin must confirm",
    )
    QUEUE_UNUSABLE = (
        "QueueUnusable",
        "its LocalQueue or ClusterQueue does not exist, is stopped or is inactive",
    )
    HELD = "Held", "a user holds it, so nothing starts until a user releases it"
    NO_WORKLOAD = "NoWorkload", "it has no Workload of Kueue, so nothing starts it"
    PODS_READY_TIMEOUT = (
        "PodsReadyTimeout",
        "its pods were not ready in the time that Kueue gives them, so Kueue suspended it",
    )
    REASSIGNMENT = (
        "NodesReassigned",
        "a node that Kueue assigned accepts no pods now; the controller asks Kueue to assign other "
        "nodes, which releases the quota for a moment",
    )
    FAILED = "Failed", "it failed, and no retry follows"
    ROOT_CAUSE = "RootCause", "the failure that caused the other failures of an attempt"
    NON_RECOVERABLE = (
        "NonRecoverableError",
        "it failed, and no retry follows: the program recorded that no retry can help",
    )
    NAMESPACE_ENDING = "NamespaceTerminating", "its namespace is being deleted"
    DELETION_INITIATED = "DeletionInitiated", "its resources are being deleted"
    DELETION_COMPLETE = "DeletionComplete", "its resources are deleted"
    STRAGGLERS = "StragglersRemoved", "pods still ran after their component had ended well"
    NEVER_ENDS = (
        "ComponentNeverEnds",
        "all other components have succeeded; the last ones never end and hold the quota",
    )
    UNEXPECTED = (
        "UnexpectedObjects",
        "objects appeared that its phase and attempt cannot have, so the controller deletes them",
    )
    DELETION_BLOCKED = (
        "DeletionBlocked",
        "its resources are not deleted in time; the message shows why",
    )
    FORCED_ON_UNREACHABLE_NODE = (
        "ForcedOnUnreachableNode",
        "a pod was deleted without confirmation from its node: its process may still run there",
    )
    CREATION_INITIATED = (
        "ComponentCreationInitiated",
        "a component's name is recorded, and the component may exist from now on",
    )
    CREATED = "ComponentCreatedSuccessfully", "a component was created"
    DELETED = "ComponentDeleted", "a component was deleted"
    ENDED_WELL = "ComponentSucceeded", "a component succeeded"
