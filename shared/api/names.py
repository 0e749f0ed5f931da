"""Define all names that other programs see: groups, labels, annotations, condition types.

They are the Go operator's, so that its AppWrappers, dashboards and scripts work unchanged. Comments
mark the names that this project adds.
"""

from typing import Final

GROUP: Final = "workload.codeflare.dev"
VERSION: Final = "v1beta2"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "AppWrapper"
PLURAL: Final = "appwrappers"

# Value of spec.managedBy for this controller; absent means this controller too.
CONTROLLER_NAME: Final = "workload.codeflare.dev/appwrapper-controller"

# Added by this project: only the holder of this Lease writes.
LEASE_NAME: Final = "appwrapper-controller"
GO_OPERATORS_LEASE: Final = "f134c674.codeflare.dev"

FINALIZER: Final = "workload.codeflare.dev/finalizer"

LABEL_APPWRAPPER: Final = "workload.codeflare.dev/appwrapper"
LABEL_USER: Final = "workload.codeflare.dev/user"
LABEL_USERID: Final = "workload.codeflare.dev/userid"
# Added by this project: the submitter's exact name, which no label can hold.
ANNOTATION_SUBMITTED_BY: Final = "workload.codeflare.dev/submitted-by"
# Added by this project, on AppWrappers that `appwrapper resubmit` made: the name of the first one.
ANNOTATION_RESUBMITTED_FROM: Final = "workload.codeflare.dev/resubmitted-from"
# Added by this project: the AppWrapper and the attempt that a component or a pod belongs to. A pod
# with another UID or attempt is never counted.
LABEL_UID: Final = "workload.codeflare.dev/uid"
LABEL_ATTEMPT: Final = "workload.codeflare.dev/attempt"
# Added by this project: the index of a component in spec.components, on the component and its pods.
# It identifies a pod's component through any object between them (a ReplicaSet, a RayCluster, a
# Job).
LABEL_COMPONENT: Final = "workload.codeflare.dev/component"

ANNOTATION_PREFIX: Final = "workload.codeflare.dev.appwrapper/"
# On a component, "true": it serves the others and does not count for success.
ANNOTATION_HELPER: Final = ANNOTATION_PREFIX + "helper"
# On a component: its fingerprint as submitted (appwrapper.py). Written by the webhook only.
ANNOTATION_SUBMITTED_DIGEST: Final = ANNOTATION_PREFIX + "submitted-digest"
# On an AppWrapper, "true": it was submitted suspended. Written by the webhook only.
ANNOTATION_SUBMITTED_SUSPENDED: Final = ANNOTATION_PREFIX + "submitted-suspended"
# On a component without pods, "true": it survives resets and suspensions.
ANNOTATION_KEEP: Final = ANNOTATION_PREFIX + "keep"
# On a TrainJob: the Jobs of its runtime, which its own status does not describe. Written by the
# controller only.
ANNOTATION_RUNTIME_JOBS: Final = ANNOTATION_PREFIX + "runtime-jobs"
# On an AppWrapper, "true": nothing runs until a user removes it. `appwrapper hold` also writes who
# holds it, for other users.
ANNOTATION_HOLD: Final = ANNOTATION_PREFIX + "hold"
ANNOTATION_HELD_BY: Final = ANNOTATION_PREFIX + "held-by"
# On Kueue's Workload, written by the controller in one request with spec.active. "true": it
# deactivated the Workload because of a hold. "false": it activated the Workload again.
ANNOTATION_DEACTIVATED: Final = ANNOTATION_PREFIX + "deactivated-by-hold"

# Added by this project, on the Secret with the webhook's certificates, "leaf" or "ca": an admin
# requests a new one. The webhook removes the annotation afterwards.
ANNOTATION_ROTATE: Final = "workload.codeflare.dev/rotate"

# Added by this project, on a namespace: a URL of the cluster's log store with placeholders, which
# `appwrapper logs` prints for deleted pods. An admin writes it.
ANNOTATION_LOG_URL: Final = "workload.codeflare.dev/log-url"

# Kueue's labels.
LABEL_QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
# After this many seconds Kueue deactivates the Workload and stops counting its pods.
LABEL_MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"

CONDITION_QUOTA_RESERVED: Final = "QuotaReserved"
CONDITION_RESOURCES_DEPLOYED: Final = "ResourcesDeployed"
CONDITION_PODS_READY: Final = "PodsReady"
CONDITION_UNHEALTHY: Final = "Unhealthy"
CONDITION_DELETING_RESOURCES: Final = "DeletingResources"
# Added by this project, on single components: it ended well, though its object may be gone.
CONDITION_SUCCEEDED: Final = "Succeeded"
