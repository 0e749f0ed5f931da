"""Name the Kueue queue, and keep users from running anything without quota."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind
from shared.api.names import LABEL_QUEUE_NAME
from shared.api.objects import JsonObject, label, metadata
from shared.kinds.table import KINDS
from webhook.admission_review import AdmissionRequest
from webhook.rules.json_patch import Change, SetField, as_stored, first_difference
from webhook.rules.submission import Facts, Submission, component_pairs, is_suspended, spec_of

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig

_IDENTITY = ("apiVersion", "kind", "name", "uid")


def controller_references(target: JsonObject | None) -> set[tuple[str | None, ...]]:
    """Return the ownerReferences with controller true, each as apiVersion, kind, name and uid.

    The API server allows one, but other clients can call the webhook. None replaces a value that is
    no string, which the API server rejects.
    """
    owners = metadata(target).get("ownerReferences")
    return {
        tuple(value if isinstance(value, str) else None for value in map(owner.get, _IDENTITY))
        for owner in (owners if isinstance(owners, list) else [])
        if isinstance(owner, dict) and owner.get("controller") is True
    }


_PATH = ("metadata", "labels", LABEL_QUEUE_NAME)


def default_queue_name(submission: Submission) -> Iterator[SetField]:
    """Add the default queue to AppWrappers that name none.

    On CREATE: the configured queue if the label is absent or empty.

    An empty label names no queue to Kueue, so the AppWrapper would run without quota.
    """
    if submission.config.default_queue_name and not label(submission.object, LABEL_QUEUE_NAME):
        yield SetField(_PATH, submission.config.default_queue_name)


_KINDS: Final = frozenset(each.group_kind for each in KINDS if each.unwrapped)


def default_direct_queue_name(submission: Submission) -> Iterator[SetField]:
    """Add the default queue to objects that a team's user creates directly.

    On CREATE in team namespaces: the configured queue if the label is absent or empty.

    An object of a controller is part of its owner, which has quota already. Off by default:
    configuration `defaultQueueNameOnDirectKinds`.
    """
    queue = submission.config.default_queue_name
    if not (submission.config.default_queue_name_on_direct_kinds and queue):
        return
    if not submission.facts.is_team_namespace or submission.request.group_kind not in _KINDS:
        return
    created = submission.object
    if not label(created, LABEL_QUEUE_NAME) and not controller_references(created):
        yield SetField(_PATH, queue)


def keep_queue_name(submission: Submission) -> Iterator[SetField]:
    """Restore the stored queue if an UPDATE drops it.

    On UPDATE: the stored queue if the request drops or empties the label.

    So `kubectl replace` of a file without the label changes nothing, and no user leaves Kueue by
    removing the label. Kueue checks the change to another queue; it allows one while the AppWrapper
    is suspended. If no queue is stored, the rule adds none, whatever the default.
    """
    stored = label(submission.old_object, LABEL_QUEUE_NAME)
    if stored and not label(submission.object, LABEL_QUEUE_NAME):
        yield SetField(_PATH, stored)


def check_queue_name(submission: Submission) -> Iterator[FieldError]:
    """Reject AppWrappers of team namespaces that name no queue.

    The user, this webhook's default or Kueue's default can name it.
    """
    if submission.facts.is_team_namespace and not label(submission.object, LABEL_QUEUE_NAME):
        yield FieldError(
            f"metadata.labels[{LABEL_QUEUE_NAME}]",
            FieldErrorKind.REQUIRED,
            f"add the label {LABEL_QUEUE_NAME}: LOCALQUEUE (`kubectl get localqueues -n "
            f"{submission.request.namespace}` lists them); this cluster has no default queue",
        )


# The Kinds that Kueue can queue, also those that the configuration does not allow. AppWrappers are
# not among them: the controller starts none without podSetInfos.
_NEVER_WRAPPED: Final = {
    "kubeflow.org/JAXJob",
    "kubeflow.org/PaddleJob",
    "kubeflow.org/TFJob",
    "kubeflow.org/XGBoostJob",
    "ray.io/RayService",
}
_QUEUED: Final = _NEVER_WRAPPED | {each.group_kind for each in KINDS if each.pod_sets is not None}


def check_direct_owner(submission: Submission) -> Iterator[str]:
    """Reject a controller reference that would hide a directly created job from Kueue.

    Yield why the object may not be created with its controller, and what to do instead.

    Measured: a PyTorchJob whose ownerReferences name a running AppWrapper runs at once, in a queue
    that admits nothing. Operators, which rightly create such objects, are part of the platform.
    """
    if submission.facts.is_platform or submission.request.group_kind not in _QUEUED:
        return
    if controller_references(submission.object):
        yield (
            "metadata.ownerReferences names a controller, so Kueue would let it run without quota "
            "of its own: leave that owner out, or set its controller to false"
        )


_SUSPEND: Final = ("spec", "suspend")
_NOT_STARTED: Final = (
    "spec.suspend is reset to true: only Kueue starts a queued AppWrapper, "
    "or an admin who writes suspend: false"
)


def keep_quota_fields(submission: Submission) -> Iterator[Change | AdmissionWarning]:
    """Restore the fields that show granted quota, spec.suspend and podSetInfos.

    On UPDATE, if quota is at stake: suspend and podSetInfos as stored, and a warning.

    A user who suspends may clear podSetInfos, since nothing starts without them. The rule restores
    omitted fields for an admin too, so that `kubectl replace` of a file starts nothing; it keeps
    what an admin states.

    They are Kueue's, or an admin's. Under the Go operator `kubectl replace` of a queued AppWrapper,
    or one patch by its user, ran it without quota.
    """
    request, facts = submission.request, submission.facts
    if _is_quota_manager(request, facts.config) or not is_quota_at_stake(request, facts):
        return
    if _starts(request) and not (facts.is_admin and _states_start(request)):
        yield SetField(_SUSPEND, True)
        yield AdmissionWarning(_NOT_STARTED)
    if facts.is_admin:
        return
    for index, stored in _rewritten_infos(request):
        yield as_stored(("spec", "components", index, "podSetInfos"), stored)
        field = f"spec.components[{index}].podSetInfos"
        yield AdmissionWarning(
            f"{field} is reset: only Kueue starts a queued AppWrapper and writes this"
        )


TO_STOP: Final = (
    "to stop the AppWrapper, run `appwrapper hold NAME`; `appwrapper release NAME` queues it again"
)
_UNDONE: Final = f"Kueue undoes spec.suspend: true within seconds, and all pods restart: {TO_STOP}"
_ENDED: Final = ("Succeeded", "Failed")  # nothing restarts


def warn_of_undone_suspension(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn that Kueue starts a queued AppWrapper again as long as it has quota.

    On UPDATE, if a user or an admin sets spec.suspend to true.
    """
    begins = is_suspended(submission.object) and not is_suspended(submission.old_object)
    if not begins or _is_quota_manager(submission.request, submission.config):
        return
    phase = ((submission.old_object or {}).get("status") or {}).get("phase")
    if label(submission.object, LABEL_QUEUE_NAME) and phase not in _ENDED:
        yield AdmissionWarning(_UNDONE)


def is_quota_at_stake(request: AdmissionRequest, facts: Facts) -> bool:
    """True in team namespaces and for queued AppWrappers; users control all others themselves."""
    return facts.is_team_namespace or bool(label(request.old_object, LABEL_QUEUE_NAME))


def needs_admin_answer(request: AdmissionRequest, config: "AppWrapperConfig") -> bool:
    """True if `keep_quota_fields` depends on Facts.is_admin, if quota is at stake.

    False for Kueue's requests, and for a file that is applied or replaced unchanged.
    """
    if _is_quota_manager(request, config):
        return False
    return (_starts(request) and _states_start(request)) or any(_rewritten_infos(request))


def _is_quota_manager(request: AdmissionRequest, config: "AppWrapperConfig") -> bool:
    return request.user.name in config.exemptions.quota_managers


def _starts(request: AdmissionRequest) -> bool:
    """True if the request resumes. An absent suspend means false: Kueue's requests omit it."""
    return is_suspended(request.old_object) and not is_suspended(request.object)


def _states_start(request: AdmissionRequest) -> bool:
    return spec_of(request.object).get("suspend") is False


def _rewritten_infos(request: AdmissionRequest) -> Iterator[tuple[int, JsonObject]]:
    """Yield index and stored form of each component whose podSetInfos the request changes.

    `keep_components` handles components without podSetInfos.
    """
    for index, (stored, sent) in enumerate(component_pairs(request)):
        before, after = stored.get("podSetInfos"), sent.get("podSetInfos")
        if after and first_difference(before, after) is not None:
            yield index, stored


def check_pod_set_infos(submission: Submission) -> Iterator[FieldError]:
    """Reject podSetInfos: only Kueue writes them, when it grants quota.

    On CREATE: none, except from a quota manager (configuration `exemptions.quotaManagers`).
    """
    if submission.request.user.name in submission.config.exemptions.quota_managers:
        return
    for component in submission.components:
        if component.raw.get("podSetInfos"):
            yield FieldError(
                f"{component.path}.podSetInfos",
                FieldErrorKind.FORBIDDEN,
                "Kueue writes them when it admits the AppWrapper; leave them out",
            )


def check_controller_owner(submission: Submission) -> Iterator[FieldError]:
    """Reject a controller reference that would hide a queued AppWrapper from Kueue.

    On UPDATE, if quota is at stake: no controller that is not stored.

    Measured: an AppWrapper that runs and gets another AppWrapper as its controller is neither
    preempted nor evicted any more. On CREATE it does no harm: without podSetInfos nothing starts.
    """
    if not is_quota_at_stake(submission.request, submission.facts):
        return
    if controller_references(submission.object) - controller_references(submission.old_object):
        yield FieldError(
            "metadata.ownerReferences",
            FieldErrorKind.FORBIDDEN,
            "a queued AppWrapper cannot get a controller: Kueue would never evict it again",
        )
