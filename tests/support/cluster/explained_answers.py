"""The answers of `appwrapper explain` to an admin about each AppWrapper of `explained_team`."""

from dataclasses import dataclass

from cli.pod_security import REMEDIES
from tests.support.cluster.explained_team import CHECK, HOLD, NOT_HERE, OTHER_FLAVOR, TEAM
from tests.support.team import FLAVOR

UNTIL_CHANGED = (
    "Nothing happens until an admin changes the queue.",
    "To request less, delete the AppWrapper, change the file, and create it again.",
)
UNTIL_REPAIRED = ("Nothing happens until that changes.",)
WHEN_FREE = (
    "It starts when enough quota is free, in the order of priority and age. Kueue does not"
    " predict when.",
)
GONE = ("Nothing: its components are gone. The AppWrapper itself stays until you delete it.",)
IN_FLAVOR = f"insufficient unused quota for cpu in flavor {FLAVOR}"


@dataclass(frozen=True, slots=True)
class Expected:
    """The whole texts of `explain` about one AppWrapper, for an admin."""

    situation: str
    answer: str
    details: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


def no_fit(name: str, why: str) -> str:
    return f"Kueue reports (Pending): couldn't assign flavors to pod set {name}-0: {why}"


def not_ready(what: str) -> tuple[str, str]:
    """Returns the texts before both grace periods end."""
    return (
        f"It turns Unhealthy (InsufficientPodsReady): {what}.",
        reset(1),
    )


def reset(number: int) -> str:
    return (
        f"It is reset (retry {number} of 3): all of it is deleted, and <span> after that the next"
        " attempt begins, with the same quota."
    )


EXPECTED: dict[str, Expected] = {
    "first": Expected(
        "WaitsForQuota",
        "first waits for quota: it asks for 60 cpu, and 0 of 120 are free in ClusterQueue"
        f" {TEAM}-tight. It is 1st of 3 in the queue.",
        (no_fit("first", f"{IN_FLAVOR}, 60 more needed"),),
        WHEN_FREE,
    ),
    "second": Expected(
        "WaitsForQuota",
        "second waits for quota: it asks for 60 cpu, and 0 of 120 are free in ClusterQueue"
        f" {TEAM}-tight. It is 2nd of 3 in the queue.",
        (no_fit("second", f"{IN_FLAVOR}, 60 more needed"),),
        WHEN_FREE,
    ),
    "giant": Expected(
        "LargerThanAnyNode",
        "giant cannot run on any node that the cluster has now: one of its pods asks for 100 cpu,"
        " and the largest node has 80.",
        (no_fit("giant", f"{IN_FLAVOR}, 100 more needed"),),
        ("Nothing happens until a larger node joins the cluster.", *UNTIL_CHANGED[1:]),
    ),
    "preempted": Expected(
        "WaitsForQuota",
        "preempted waits for quota again: it asks for 1 cpu, and 0 of 1 are free in ClusterQueue"
        f" {TEAM}-contested. It is 1st of 1 in the queue.",
        (
            "Kueue took its quota back at <ago> (Preempted): Preempted to accommodate a workload"
            " (UID: <id>, JobUID: <id>) due to prioritization in the ClusterQueue; preemptor path:"
            f" /{TEAM}-contested; preemptee path: /{TEAM}-contested",
            no_fit("preempted", f"{IN_FLAVOR}, 1 more needed"),
        ),
        WHEN_FREE,
    ),
    "too-big": Expected(
        "NeverFits",
        f"too-big can never start: it asks for 1000 cpu, and ClusterQueue {TEAM}-cluster-queue can"
        " have 640 at most.",
        (
            no_fit(
                "too-big",
                f"insufficient quota for cpu in flavor {FLAVOR}, previously considered podsets"
                " requests (0) + current podset request (1k) > maximum capacity (640)",
            ),
        ),
        UNTIL_CHANGED,
    ),
    "picky": Expected(
        "NoMatchingFlavor",
        f"picky can never start: no flavor of ClusterQueue {TEAM}-picky matches its pods' node"
        " selectors, affinities and tolerations.",
        (no_fit("picky", f"flavor {OTHER_FLAVOR} doesn't match node affinity"),),
        UNTIL_CHANGED,
    ),
    "astray": Expected(
        "LocalQueueMissing",
        f"astray waits: LocalQueue nowhere does not exist in namespace {TEAM}. Create it, or set"
        " the label kueue.x-k8s.io/queue-name to another queue (kubectl get localqueues).",
        ("Kueue reports (Inadmissible): LocalQueue nowhere doesn't exist",),
        UNTIL_REPAIRED,
    ),
    "held": Expected(
        "QueueStopped",
        "held waits: an admin stopped LocalQueue held (stopPolicy: Hold). Kueue admits from it"
        " again when stopPolicy is None.",
        ("Kueue reports (Inadmissible): LocalQueue held is inactive",),
        UNTIL_REPAIRED,
    ),
    "closed": Expected(
        "QueueStopped",
        f"closed waits: an admin stopped ClusterQueue {TEAM}-closed (stopPolicy: Hold). Kueue"
        " admits from it again when stopPolicy is None.",
        (f"Kueue reports (Inadmissible): ClusterQueue {TEAM}-closed is inactive",),
        UNTIL_REPAIRED,
    ),
    "broken": Expected(
        "ClusterQueueInactive",
        f"broken waits: ClusterQueue {TEAM}-broken is inactive (FlavorNotFound): Can't admit"
        f" new workloads: references missing ResourceFlavor(s): {NOT_HERE}.",
        (f"Kueue reports (Inadmissible): ClusterQueue {TEAM}-broken is inactive",),
        UNTIL_REPAIRED,
    ),
    "private": Expected(
        "NamespaceNotInClusterQueue",
        f"private waits because ClusterQueue {TEAM}-private accepts no workloads of namespace"
        f" {TEAM} (its namespaceSelector).",
        ("Kueue reports (Pending): workload namespace doesn't match ClusterQueue selector",),
        ("Nothing happens until an admin changes the selector or the labels.",),
    ),
    "checked": Expected(
        "WaitsForAdmissionChecks",
        "checked waits: its quota is reserved. Admission checks that are not ready:"
        f" {CHECK} (Pending).",
        (),
        ("It starts when all admission checks are Ready.",),
    ),
    "deactivated": Expected(
        "Deactivated",
        "deactivated waits: its Workload <workload> is out of the queue, because its spec.active is"
        " false. Kueue queues it again once that is true.",
        ("Kueue took its quota back at <ago> (Deactivated): The workload is deactivated",),
        ("Nothing happens until then.",),
    ),
    "of-another": Expected(
        "ManagedByAnother",
        "of-another is managed by kueue.x-k8s.io/multikueue (spec.managedBy), so the AppWrapper"
        " controller of this cluster ignores it.",
    ),
    "runs": Expected(
        "Running",
        "runs has run since <ago>: 2 pods of 2 run.",
        (),
        ("It runs until its components end.",),
    ),
    "unschedulable": Expected(
        "PodsUnschedulable",
        "unschedulable has its quota, and pod unschedulable waits for a node. The scheduler"
        " reports: <scheduler>",
        (),
        not_ready("0 of 1 pods run or succeeded; not running: unschedulable without a node"),
    ),
    "giant-pod": Expected(
        "PodsUnschedulable",
        "giant-pod has its quota, and pod giant-pod waits for a node. The scheduler reports:"
        " <scheduler>",
        (
            "No node that the cluster has now can run it: one of its pods asks for 100 cpu, and the"
            " largest node has 80.",
        ),
        not_ready("0 of 1 pods run or succeeded; not running: giant-pod without a node"),
    ),
    "gated": Expected(
        "PodsGated",
        "gated has its quota, and pod gated waits for its scheduling gate: example.com/licence.",
        (),
        not_ready("0 of 1 pods run or succeeded; not running: gated without a node"),
    ),
    "no-image": Expected(
        "ImageCannotBePulled",
        "no-image has its quota, and pod no-image cannot start: image quay.io/team/train:1 cannot"
        " be pulled (ErrImagePull).",
        (),
        not_ready("0 of 1 pods run or succeeded; not running: no-image on <node> (ErrImagePull)"),
    ),
    "misconfigured": Expected(
        "ContainersCannotStart",
        "misconfigured has its quota, and pod misconfigured cannot start"
        " (CreateContainerConfigError): annotation simulation.localcluster.dev/run-for:"
        ' "soon" is not a duration; write it like 5s, 1m30s or 200ms.',
        (),
        not_ready(
            "0 of 1 pods run or succeeded; not running: misconfigured on <node>"
            " (CreateContainerConfigError)"
        ),
    ),
    "crashes": Expected(
        "ContainersCrash",
        "crashes has its quota, and pod crashes crashes again and again: container main ended with"
        " exit code 137 (OOMKilled), 5 restarts.",
        (),
        not_ready(
            "crashes on <node> failed (exit code 137, signal 9, OOMKilled);"
            " 0 of 1 pods run or succeeded; not running: crashes on <node>; 1 pod crashes again and"
            " again"
        ),
    ),
    "prepares": Expected(
        "PodsStarting",
        "prepares has its quota, and pod prepares waits for its init containers: init container"
        " prepare runs.",
        (),
        not_ready("0 of 1 pods run or succeeded; not running: prepares on <node>"),
    ),
    "warms-up": Expected(
        "PodsStarting",
        "warms-up has its quota, and pod warms-up waits for its containers to start.",
        (),
        not_ready("0 of 1 pods run or succeeded; not running: warms-up on <node>"),
    ),
    "refused": Expected(
        "PodsMissing",
        "refused has its quota, and 0 of 2 pods exist: its components have not made the others.",
        (
            'Job refused (FailedCreate): Error creating: pods "refused-<suffix>" is forbidden:'
            " exceeded quota: no-urgency, requested: pods=1, used: pods=0, limited: pods=0",
        ),
        not_ready("0 of 2 pods exist"),
    ),
    "insecure": Expected(
        "PodsMissing",
        f"insecure has its quota, but Pod Security in namespace {TEAM} refuses its pods:"
        " ValidatingAdmissionPolicy 'appwrapper-baseline-ipc-lock' with binding"
        " 'appwrapper-baseline-ipc-lock' denied request: containers may add only the capabilities"
        " AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, IPC_LOCK, KILL, MKNOD,"
        " NET_BIND_SERVICE, SETFCAP, SETGID, SETPCAP, SETUID and SYS_CHROOT.",
        REMEDIES,
        not_ready("0 of 2 pods exist"),
    ),
    "on-the-host": Expected(
        "Failed",
        'on-the-host failed at <ago>: spec.components[0]: 422 Invalid: pods "on-the-host" is'
        " forbidden: ValidatingAdmissionPolicy 'appwrapper-baseline-ipc-lock' with binding"
        " 'appwrapper-baseline-ipc-lock' denied request: the pod must not set hostNetwork, hostPID"
        " or hostIPC.",
        ("The API server refuses it for good, so no retry can help.", *REMEDIES),
        GONE,
    ),
    "no-room": Expected(
        "CannotCreateComponents",
        "no-room waits because a component cannot be created: spec.components[0]: 403 Forbidden:"
        ' secrets "key" is forbidden: exceeded quota: no-secrets, requested: count/secrets=1, used:'
        " count/secrets=0, limited: count/secrets=0.",
        ("0 of 3 retries are spent.",),
        ("The controller tries again every few seconds.", reset(1)),
    ),
    "grace": Expected(
        "Unhealthy",
        "grace has been unhealthy since <ago>: 1 failed pod: grace on <node> (exit code 1). It is"
        " reset at <soon>, unless it heals before.",
        ("0 of 3 retries are spent.",),
        (reset(1),),
    ),
    "pauses": Expected(
        "RetryPause",
        "pauses was reset (FoundFailedPods), and its next attempt begins at <soon>.",
        (
            "Attempt 1 ended: 1 failed pod: pauses on <node> (exit code 1).",
            "1 of 3 retries is spent.",
            "It keeps its quota meanwhile.",
        ),
        ("Attempt 2 begins.",),
    ),
    "evacuated": Expected(
        "RetryPause",
        "evacuated was reset (AutopilotNoExecute), and its next attempt begins at <soon>.",
        (
            "Attempt 1 ended: node <node> (autopilot.ibm.com/gpuhealth=EVICT): pod"
            " evacuated-<suffix> uses nvidia.com/gpu.",
            "0 of 3 retries are spent.",
            "It keeps its quota meanwhile.",
        ),
        ("Attempt 2 begins.",),
    ),
    "exhausted": Expected(
        "Failed",
        "exhausted failed at <ago>: exhausted on <node> failed (exit code 1).",
        ("Retries exhausted (1 of 1).",),
        GONE,
    ),
    "terminal": Expected(
        "Failed",
        "terminal failed at <ago>: terminal on <node> failed (exit code 42).",
        ("No retry: exit code 42 of terminal is in terminalExitCodes.",),
        GONE,
    ),
    "kept": Expected(
        "FailedAndKept",
        "kept failed at <ago>: kept on <node> failed (exit code 1).",
        (
            "retryLimit is 0.",
            "It still holds its quota, until all of its pods are gone.",
        ),
        (
            "The deletion-on-failure grace period ends, and its pods and other components are"
            " deleted.",
        ),
    ),
    "robbed": Expected(
        "Failed",
        "robbed failed at <ago>: deleted by another client: Job robbed.",
        (
            "The controller never recreates a component that another client deleted: delete the"
            " AppWrapper and create it again.",
        ),
        GONE,
    ),
    "done": Expected(
        "Succeeded",
        "done succeeded at <ago>.",
        (),
        ("The success TTL ends, and its pods and other components are deleted.",),
    ),
    "blocked": Expected(
        "DeletionBlocked",
        f"blocked is being deleted, and its deletion is blocked: Job blocked has the finalizer"
        f" {HOLD}.",
        (
            f"The controller never removes another program's finalizer: the program that set {HOLD}"
            " must do so, or an admin.",
            "When all of it is gone, the AppWrapper itself is removed.",
        ),
        ("Nothing happens until the cause is removed.",),
    ),
}

HIDDEN_FROM_READERS = [
    f"Namespace {TEAM} (no right to get it)",
    f"workloads of namespace {TEAM}: who holds quota (no right to list them)",
    "workloads of the cluster: who holds quota (no right to list them)",
    f"localqueues of namespace {TEAM}: whether the queue exists and is open (no right to list"
    " them)",
    "clusterqueues of the cluster: how much quota is used and free (no right to list them)",
    "cohorts of the cluster: what can be borrowed (no right to list them)",
    "nodes of the cluster: whether a node is large enough (no right to list them)",
    f"pods of namespace {TEAM}: what its pods do (no right to list them)",
    f"events of namespace {TEAM}: what happened to it (no right to list them)",
    "localqueues/pendingworkloads of visibility.kueue.x-k8s.io: the position in the queue (no"
    " right to get them)",
]
