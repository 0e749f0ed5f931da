"""Record who submitted an AppWrapper, and recognize the platform's identities."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from shared.api.findings import AdmissionWarning, quoted
from shared.api.names import ANNOTATION_SUBMITTED_BY, LABEL_USER, LABEL_USERID
from shared.api.objects import LONGEST_VALUE, JsonObject, JsonValue, metadata
from webhook.admission_review import AdmissionRequest, User
from webhook.rules.json_patch import Path, RemoveField, SetField
from webhook.rules.submission import Submission

if TYPE_CHECKING:
    from shared.config.configuration import Exemptions

_NOT_IN_LABELS: Final = re.compile(r"[^-_.A-Za-z0-9]")
_HASH: Final = 8  # hex digits
_LABELS: Final = "labels"
_ANNOTATIONS: Final = "annotations"
# The fields below an AppWrapper's metadata that name its user.
_PLACES: Final = (
    (_LABELS, LABEL_USER),
    (_LABELS, LABEL_USERID),
    (_ANNOTATIONS, ANNOTATION_SUBMITTED_BY),
)


def set_user(submission: Submission) -> Iterator[SetField]:
    """Record who submitted the AppWrapper: labels for accounting and selecting, an annotation for
    the exact name.

    On CREATE: name and id from the request replace the values that the user wrote.
    """
    for place, value in _true_values(submission.request.user):
        yield SetField(_path(place), value)


def _true_values(user: User) -> Iterator[tuple[tuple[str, str], str]]:
    values = (as_label_value(user.name), as_label_value(user.uid), user.name)
    yield from zip(_PLACES, values, strict=True)


def as_label_value(text: str) -> str:
    """Return `text` as a valid label value: other characters become `_`, cut to 63, ends trimmed.

    A user name such as `system:serviceaccount:team:me` becomes `system_serviceaccount_team_me`. A
    cut value ends with a hash of the whole text: an identity provider's long names may differ only
    at their ends.
    """
    value = _NOT_IN_LABELS.sub("_", text)
    if len(value) > LONGEST_VALUE:
        digest = sha256(text.encode()).hexdigest()[:_HASH]
        value = f"{value[: LONGEST_VALUE - _HASH - 1]}-{digest}"
    return value.strip("-_.")


def warn_of_named_user(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of files that name another user than the one who submits them.

    On CREATE, if the label or annotation has another value than the webhook writes.
    """
    for place, true in _true_values(submission.request.user):
        written = _at(submission.object, place)
        if isinstance(written, str) and written != true:
            yield AdmissionWarning(
                f"{_shown(place)}: remove it from the file: it is overwritten with {quoted(true)}"
            )


# An UPDATE never changes who submitted a stored AppWrapper.


def keep_user(submission: Submission) -> Iterator[SetField | RemoveField | AdmissionWarning]:
    """Restore the stored user if an UPDATE drops it or names another user.

    On UPDATE: as stored. So a file that names its user can be applied repeatedly. The rule
    adds nothing that is not stored (the Go operator wrote no annotation).
    """
    for place in _PLACES:
        stored, sent = _at(submission.old_object, place), _at(submission.object, place)
        if sent == stored:
            continue
        yield RemoveField(_path(place)) if stored is None else SetField(_path(place), stored)
        if sent is not None:
            kept = "removed" if stored is None else f"reset to {quoted(str(stored))}"
            yield AdmissionWarning(
                f"{_shown(place)}: {kept}: who submitted an AppWrapper never changes; remove it "
                "from the file"
            )


def changed_user_fields(request: AdmissionRequest) -> Iterator[str]:
    """Yield the user fields that an UPDATE changes: another webhook may have written them."""
    for place in _PLACES:
        if _at(request.old_object, place) != _at(request.object, place):
            yield _shown(place)


def _at(target: JsonObject | None, place: tuple[str, str]) -> JsonValue:
    group, key = place
    found = metadata(target).get(group)
    return found.get(key) if isinstance(found, dict) else None


def _path(place: tuple[str, str]) -> Path:
    return ("metadata", *place)


def _shown(place: tuple[str, str]) -> str:
    group, key = place
    return f"metadata.{group}[{key}]"


# The platform's identities: their requests never wait for the rule about directly created Kinds.
#
# Both the registration (`registration.py`, as CEL) and the rule itself use these.

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


def exempt_namespaces(exemptions: "Exemptions") -> tuple[str, ...]:
    """Return the namespaces with platform service accounts; kube-system is always one of them."""
    configured = exemptions.service_account_namespaces
    return tuple(dict.fromkeys((_CONTROL_PLANE_NAMESPACE, *configured)))


def is_platform(user: User, exemptions: "Exemptions") -> bool:
    """True if the name or the groups of `user` belong to the platform."""
    return (
        NODES in user.groups
        or user.name in CONTROL_PLANE
        or service_account_namespace(user) in exempt_namespaces(exemptions)
    )


def service_account_namespace(user: User) -> str | None:
    """Return the namespace of a service account; None for other users."""
    if not user.name.startswith(SERVICE_ACCOUNT):
        return None
    namespace, separator, name = user.name.removeprefix(SERVICE_ACCOUNT).partition(":")
    return namespace if namespace and separator and name else None
