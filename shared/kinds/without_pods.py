"""Kinds that hold no pods and make none: their quota is never released early."""

from typing import Final

from shared.api.objects import CONFIGMAPS, SECRETS, Resource
from shared.kinds.kind import Kind

SERVICES: Final = Resource("", "v1", "services", "Service")
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
POD_GROUPS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")

_GRANTED: Final = (
    "Wrapped resources of the core group. Watched so that an external deletion is noticed."
)

SERVICE = Kind(resource=SERVICES, granted=_GRANTED)
CONFIG_MAP = Kind(resource=CONFIGMAPS, granted=_GRANTED)
SECRET = Kind(
    resource=SECRETS,
    granted="Wrapped Secrets, each looked up by its own name. No list and no watch: the controller "
    "never sees a Secret that it did not create.",
    listed=False,
)
CLAIM = Kind(resource=CLAIMS, granted=_GRANTED)
SERVICE_ACCOUNT = Kind(
    resource=Resource("", "v1", "serviceaccounts", "ServiceAccount"), granted=_GRANTED
)
POD_GROUP = Kind(
    resource=POD_GROUPS,
    granted="Gang scheduling: the PodGroup that Coscheduling waits for is wrapped beside the "
    "workload.",
)
