"""The whole messages with which policies reject requests."""

SPEC = (
    "spec cannot be changed: Kueue counted it as it was submitted. To run something else, delete "
    "the AppWrapper or the job that was submitted, and create the new one"
)
LABELS = (
    "metadata.labels: a label cannot be changed or removed, because operators find the objects of "
    "an AppWrapper or a job by their labels. Keep the existing labels; you may add others"
)
OWNERS = (
    "metadata.ownerReferences cannot be changed, because quota is counted for the owner. Leave "
    "them as they are"
)
OUT_OF_THE_QUEUE = (
    "metadata.labels[kueue.x-k8s.io/queue-name] cannot be removed from an object that waits for "
    "quota or has it. Keep the label, or delete the object"
)
CLAIMED = (
    "metadata.labels: only the platform sets or changes labels that begin with "
    "workload.codeflare.dev/. Leave them as they are"
)
SCALED = (
    "replicas cannot be set by the subresource scale (kubectl scale, a HorizontalPodAutoscaler), "
    "which does not show whether the object belongs to an AppWrapper or a queue. Delete the "
    "AppWrapper or the job and create it again with another count. If the object is neither "
    "wrapped nor queued, change spec.replicas itself (kubectl edit)"
)
ORPHANED = (
    "propagationPolicy: Orphan (kubectl delete --cascade=orphan; orphanDependents: true) would "
    "leave its dependents running without quota. Delete it with --cascade=background or "
    "--cascade=foreground"
)
ORPHANING = (
    "metadata.finalizers: the finalizer orphan would leave the object's dependents running "
    "without quota. Remove the finalizer"
)
LINGERING = (
    "gracePeriodSeconds (kubectl delete --grace-period, an eviction): a deleted pod may keep its "
    "devices for at most 600 seconds. Ask for no more, or leave it out"
)
LET_GO = (
    "metadata.finalizers: workload.codeflare.dev/finalizer cannot be removed: the controller "
    "removes it once all pods are gone, and releases the quota then. Wait, or see why in "
    "status.conditions"
)
ENDING = (
    "spec cannot be changed while the AppWrapper is being deleted: its controller might not "
    "recognize what it has to delete. Wait until it is gone, then create it again"
)
