"""Who makes the cluster work: their requests never wait for the rule about directly created Kinds.

Both the registration (`registration.py`, as CEL) and the rule itself go by this. Pure.
"""

from typing import Final

from shared.config.admission import Exemptions
from webhook.admission_review import User

NODES: Final = "system:nodes"  # the group of every kubelet
# The control plane under its own names; with --use-service-account-credentials the controllers of
# kube-controller-manager are service accounts of kube-system instead.
CONTROL_PLANE: Final = (
    "system:apiserver",
    "system:cloud-controller-manager",
    "system:kube-controller-manager",
    "system:kube-scheduler",
)
_CONTROL_PLANE_NAMESPACE: Final = "kube-system"
SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def exempt_namespaces(exemptions: Exemptions) -> tuple[str, ...]:
    """Whose service accounts are platform. kube-system's always are: nothing works without them."""
    configured = exemptions.service_account_namespaces
    return tuple(dict.fromkeys((_CONTROL_PLANE_NAMESPACE, *configured)))


def is_platform(user: User, exemptions: Exemptions) -> bool:
    """Whether the name or the groups of `user` say that it is a part of the platform."""
    return (
        NODES in user.groups
        or user.name in CONTROL_PLANE
        or service_account_namespace(user) in exempt_namespaces(exemptions)
    )


def service_account_namespace(user: User) -> str | None:
    """The namespace of a service account; None for anybody else."""
    if not user.name.startswith(SERVICE_ACCOUNT):
        return None
    namespace, separator, name = user.name.removeprefix(SERVICE_ACCOUNT).partition(":")
    return namespace if namespace and separator and name else None
