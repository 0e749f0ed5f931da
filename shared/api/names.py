"""Every name that other programs see: groups, labels, annotations, finalizers, condition types.

They are the Go operator's (specification 1), so that an AppWrapper, a dashboard or a script made
for it works unchanged. What this project adds says so.
"""

from typing import Final

GROUP: Final = "workload.codeflare.dev"
VERSION: Final = "v1beta2"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "AppWrapper"
PLURAL: Final = "appwrappers"

# The value of spec.managedBy that means us; absent means us too.
CONTROLLER_NAME: Final = "workload.codeflare.dev/appwrapper-controller"

FINALIZER: Final = "workload.codeflare.dev/finalizer"

LABEL_APPWRAPPER: Final = "workload.codeflare.dev/appwrapper"
LABEL_USER: Final = "workload.codeflare.dev/user"
LABEL_USERID: Final = "workload.codeflare.dev/userid"
# Added by this project: the exact name of whoever submitted it, which no label can hold.
ANNOTATION_SUBMITTED_BY: Final = "workload.codeflare.dev/submitted-by"
# Added by this project: which AppWrapper, and which attempt of it, a component or a pod belongs to.
# A pod of another UID or attempt is never counted.
LABEL_UID: Final = "workload.codeflare.dev/uid"
LABEL_ATTEMPT: Final = "workload.codeflare.dev/attempt"
# Added by this project: the index in spec.components of the component that it is, or comes from.
# A pod tells by it whose it is, whatever stands between (a ReplicaSet, a RayCluster, a Job).
LABEL_COMPONENT: Final = "workload.codeflare.dev/component"

ANNOTATION_PREFIX: Final = "workload.codeflare.dev.appwrapper/"
# Of a component, "true": it serves the others and does not count for success.
ANNOTATION_HELPER: Final = ANNOTATION_PREFIX + "helper"
# Of a component: its fingerprint as it was submitted (appwrapper.py). The webhook's own.
ANNOTATION_SUBMITTED_DIGEST: Final = ANNOTATION_PREFIX + "submitted-digest"
# Of an AppWrapper, "true": it was submitted suspended. The webhook's own.
ANNOTATION_SUBMITTED_SUSPENDED: Final = ANNOTATION_PREFIX + "submitted-suspended"
# Of a component without pods, "true": it survives resets and suspensions.
ANNOTATION_KEEP: Final = ANNOTATION_PREFIX + "keep"

# Added by this project, of the Secret with the webhook's certificates, "leaf" or "ca": an admin
# asks for a new one. The webhook takes it away when that is done.
ANNOTATION_ROTATE: Final = "workload.codeflare.dev/rotate"

# Kueue's.
LABEL_QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
# After so many seconds Kueue deactivates the Workload, and counts its pods no more from then on.
LABEL_MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"

CONDITION_QUOTA_RESERVED: Final = "QuotaReserved"
CONDITION_RESOURCES_DEPLOYED: Final = "ResourcesDeployed"
CONDITION_PODS_READY: Final = "PodsReady"
CONDITION_UNHEALTHY: Final = "Unhealthy"
CONDITION_DELETING_RESOURCES: Final = "DeletingResources"
# Added by this project, of one component only: it ended well, though its object may be gone.
CONDITION_SUCCEEDED: Final = "Succeeded"
