"""Who submitted an AppWrapper, and who is a part of the platform."""

import re
from collections.abc import Iterator
from typing import Final

from shared.api.findings import AdmissionWarning, quoted
from shared.api.names import LABEL_USER, LABEL_USERID
from shared.api.objects import LONGEST_VALUE, label
from shared.config.configuration import Exemptions
from webhook.admission_review import AdmissionRequest, User
from webhook.rules.json_patch import SetField
from webhook.rules.submission import Facts

_NOT_IN_LABELS: Final = re.compile(r"[^-_.A-Za-z0-9]")


def set_user_labels(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Who submitted an AppWrapper, as labels: for accounting and for selecting.

    On CREATE: name and id from the request, whatever the user wrote there.
    """
    yield SetField(("metadata", "labels", LABEL_USER), as_label_value(request.user.name))
    yield SetField(("metadata", "labels", LABEL_USERID), as_label_value(request.user.uid))


def as_label_value(text: str) -> str:
    """`text` as a valid label value: other characters become `_`, cut to 63, ends trimmed.

    A user name such as `system:serviceaccount:team:me` becomes `system_serviceaccount_team_me`.
    """
    return _NOT_IN_LABELS.sub("_", text)[:LONGEST_VALUE].strip("-_.")


# A warning for files that name their user, where the webhook writes who really asks.


def warn_of_named_user(request: AdmissionRequest, _facts: Facts) -> Iterator[AdmissionWarning]:
    """A warning for files that name their user, where the webhook writes who really asks.

    On CREATE, where the label says something else: on UPDATE that is a change, and refused.
    """
    for key, value in ((LABEL_USER, request.user.name), (LABEL_USERID, request.user.uid)):
        written, true = label(request.object, key), as_label_value(value)
        if written is not None and written != true:
            yield AdmissionWarning(
                f"metadata.labels[{key}]: remove it from the file: it is overwritten with "
                f"{quoted(true)}, and the same file will be refused when applied again"
            )


# Who submitted a stored AppWrapper, when an UPDATE drops it.


def keep_user_labels(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Who submitted a stored AppWrapper, when an UPDATE drops it.

    On UPDATE: the stored labels where the request dropped them; never anybody else's name.
    """
    for key in (LABEL_USER, LABEL_USERID):
        stored = label(request.old_object, key)
        if stored is not None and label(request.object, key) is None:
            yield SetField(("metadata", "labels", key), stored)


# Who makes the cluster work: their requests never wait for the rule about directly created Kinds.
#
# Both the registration (`registration.py`, as CEL) and the rule itself go by this.

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
