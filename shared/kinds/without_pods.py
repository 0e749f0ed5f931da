"""Kinds that hold no pods and make none: nothing is given back early for them."""

from typing import Final

from shared.api.resource import CONFIGMAPS, SECRETS, Resource
from shared.kinds.kind import Kind

SERVICES: Final = Resource("", "v1", "services", "Service")
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
POD_GROUPS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")

SERVICE = Kind(resource=SERVICES)
CONFIG_MAP = Kind(resource=CONFIGMAPS)
SECRET = Kind(resource=SECRETS)
CLAIM = Kind(resource=CLAIMS)
SERVICE_ACCOUNT = Kind(resource=Resource("", "v1", "serviceaccounts", "ServiceAccount"))
POD_GROUP = Kind(resource=POD_GROUPS)
