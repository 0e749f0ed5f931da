"""Check which Kinds a user may wrap or create directly in a namespace, and warn of some Kinds.

kubectl prints a warning as `Warning: TEXT`; the API server cuts it at 256 characters.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from shared.api.objects import metadata
from shared.kinds.table import KINDS, record_of
from webhook.admission_review import APPWRAPPER, AdmissionRequest
from webhook.rules.annotations import is_on
from webhook.rules.submission import (
    Submission,
    SubmittedComponent,
    components_of,
    spec_of,
)

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig


def check_nesting(submission: Submission) -> Iterator[FieldError]:
    """Reject an AppWrapper inside an AppWrapper.

    Forbidden under every configuration of the allowed Kinds: quota would be counted twice.
    """
    for component in submission.components:
        if component.group_kind == APPWRAPPER:
            yield FieldError(
                f"{component.path}.template",
                FieldErrorKind.FORBIDDEN,
                "an AppWrapper cannot contain another AppWrapper",
            )


def check_component_namespace(submission: Submission) -> Iterator[FieldError]:
    """Reject components in another namespace than the AppWrapper's.

    A namespace that is absent, null or empty means the AppWrapper's.
    """
    own = submission.request.namespace
    for component in submission.components:
        namespace = metadata(component.template).get("namespace")
        if namespace is None or namespace in ("", own):
            continue
        yield FieldError(
            f"{component.path}.template.metadata.namespace",
            FieldErrorKind.FORBIDDEN,
            f"an AppWrapper in namespace {own} cannot create resources in another namespace",
        )


def check_allowed_kinds(submission: Submission) -> Iterator[FieldError]:
    """Reject Kinds that configuration `allowedKinds.wrapped` does not list.

    The entry '*' allows every Kind. Another rule rejects AppWrappers.
    """
    allowed = submission.config.allowed_kinds.wrapped
    listed = f"; {_where_listed(allowed)}"
    for component in submission.components:
        if is_listed(component.group_kind, (*allowed, APPWRAPPER)):
            continue
        nearest = _nearest(component.group_kind, allowed)
        instead = f": use {nearest} instead" if nearest else ""
        yield FieldError(
            f"{component.path}.template",
            FieldErrorKind.FORBIDDEN,
            f"{component.group_kind} may not be wrapped{instead}{listed}",
        )
        listed = ""  # once


# For a Kind that is not allowed, the Kind that can nearly replace it.
_NEAREST: Final = {
    "apps/DaemonSet": "apps/Deployment",
    "apps/ReplicaSet": "apps/Deployment",
    "ReplicationController": "apps/Deployment",
    "batch/CronJob": "batch/Job",
    "kubeflow.org/JAXJob": "kubeflow.org/PyTorchJob",
    "kubeflow.org/PaddleJob": "kubeflow.org/PyTorchJob",
    "kubeflow.org/TFJob": "kubeflow.org/PyTorchJob",
    "kubeflow.org/XGBoostJob": "kubeflow.org/PyTorchJob",
    "ray.io/RayService": "ray.io/RayCluster",
    "trainer.kubeflow.org/TrainJob": "kubeflow.org/PyTorchJob",
}
_MOST_LISTED: Final = 5
_BY_DEFAULT: Final = tuple(each.group_kind for each in KINDS)


def _nearest(group_kind: str, allowed: tuple[str, ...]) -> str | None:
    """Return the allowed Kind that can replace another; None if there is none."""
    nearest = _NEAREST.get(group_kind)
    return nearest if nearest in allowed else None


def _where_listed(allowed: tuple[str, ...]) -> str:
    """Return where a user finds the Kinds that may be wrapped: here if there are few."""
    if len(allowed) <= _MOST_LISTED:
        return f"these Kinds may be wrapped: {', '.join(allowed)}"
    place = "appwrapper.spec.components.template"
    if allowed == _BY_DEFAULT:
        return f"`kubectl explain {place}` lists the Kinds that may be wrapped"
    return "the operator's configuration lists the Kinds that may be wrapped (allowedKinds.wrapped)"


def is_listed(group_kind: str, allowed: tuple[str, ...]) -> bool:
    """True if a list of configuration `allowedKinds` has a Kind, or every Kind."""
    return group_kind in allowed or "*" in allowed


WRAPPING: Final = "appwrapper pack FILE | kubectl apply -f -"


def check_direct_kind(submission: Submission) -> Iterator[str]:
    """Reject Kinds that team users may not create directly: configuration `allowedKinds.direct`.

    Yield why the object may not be created as it is, and what to do instead.

    The API server calls the webhook for team namespaces only. It does not call it for allowed Kinds
    without pods, nor for the platform's identities (`registration.py`).
    """
    allowed = submission.config.allowed_kinds
    if submission.facts.is_platform or is_listed(submission.request.group_kind, allowed.direct):
        return
    if is_listed(submission.request.group_kind, allowed.wrapped):
        yield (
            "in a team's namespace it has to be wrapped, so that it is queued and its quota is "
            f"counted: {WRAPPING}"
        )
    else:
        nearest = _nearest(submission.request.group_kind, allowed.wrapped)
        instead = f": create an AppWrapper with a {nearest} instead" if nearest else ""
        yield (
            f"in a team's namespace it may neither be created nor wrapped{instead}; "
            f"{_where_listed(allowed.wrapped)}"
        )


# Kinds of one AppWrapper, each in its version. Each costs a request to the API server; real
# AppWrappers have fewer.
MOST_KINDS: Final = 64
_ADVICE: Final = (
    "; a user needs the right to create each component: ask an admin of namespace {} for it"
)


def check_access(submission: Submission) -> Iterator[FieldError]:
    """Reject components that the user may not create directly: configuration
    `userRBACAdmissionCheck`.

    Forbidden for every component of a Kind that the user may not create in this namespace.

    `gather/access_reviews.py` has asked the API server before; this rule reports the answers.
    """
    kinds = _kinds(submission.components, submission.config)
    if len(kinds) > MOST_KINDS:
        detail = f"rights to at most {MOST_KINDS} different Kinds can be looked up"
        yield FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(len(kinds)))
        return
    denied = submission.facts.denied_kinds
    advice = _ADVICE.format(submission.request.namespace)
    for component in submission.components:
        reason = denied.get((component.api_version, component.kind))
        if reason is not None:
            detail = f"{reason}{advice}"
            yield FieldError(f"{component.path}.template", FieldErrorKind.FORBIDDEN, detail)
            advice = ""  # once


def kinds_to_review(request: AdmissionRequest, config: "AppWrapperConfig") -> list[tuple[str, str]]:
    """Return the Kinds, as (apiVersion, kind), for which `check_access` needs an answer, each once.

    Omit Kinds that another rule rejects: an answer would only reveal which Kinds exist.
    """
    if not config.user_rbac_admission_check:
        return []
    components, _malformed = components_of(request.object)
    kinds = _kinds(components, config)
    return kinds if len(kinds) <= MOST_KINDS else []


def _kinds(
    components: Sequence[SubmittedComponent], config: "AppWrapperConfig"
) -> list[tuple[str, str]]:
    if not config.user_rbac_admission_check:
        return []
    allowed = config.allowed_kinds.wrapped
    return list(
        dict.fromkeys(
            (component.api_version, component.kind)
            for component in components
            if is_listed(component.group_kind, allowed) and component.group_kind != APPWRAPPER
        )
    )


# Warnings about the behaviour of some Kinds.


def warn_of_lost_volume(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn that every reset deletes a wrapped PersistentVolumeClaim with its data.

    On CREATE, unless the component is kept.
    """
    for component in submission.components:
        if component.group_kind != "PersistentVolumeClaim" or is_on(component, ANNOTATION_KEEP):
            continue
        yield AdmissionWarning(
            f"{component.path}: every reset and suspension deletes this PersistentVolumeClaim with "
            f'its data: annotate the component {ANNOTATION_KEEP}: "true", or create it outside the '
            "AppWrapper"
        )


def warn_of_never_completing(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of components that run indefinitely beside components that end: the AppWrapper never
    succeeds.

    On CREATE. No warning if nothing in the AppWrapper ends.
    """
    endless = [each for each in submission.components if _is_endless(each) and _counts(each)]
    if not endless or not any(
        _counts(each) for each in submission.components if not _is_endless(each)
    ):
        return
    for component in endless:
        yield AdmissionWarning(
            f"{component.path}: a {component.kind} never completes, so the AppWrapper will never "
            "succeed; if it only serves the others, annotate the component "
            f'{ANNOTATION_HELPER}: "true"'
        )


def _is_endless(component: SubmittedComponent) -> bool:
    return record_of(component.group_kind).ends is False


def _counts(component: SubmittedComponent) -> bool:
    """True if the AppWrapper's success depends on the component."""
    return not is_on(component, ANNOTATION_HELPER) and bool(component.pod_sets)


def warn_of_readable_secret(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn that all users who may read AppWrappers can read a wrapped Secret.

    On CREATE. The warning does not show its content.
    """
    for component in submission.components:
        if component.group_kind == "Secret":
            yield AdmissionWarning(
                f"{component.path}: every user who may read AppWrappers can read this Secret: "
                "create it outside the AppWrapper and refer to it by name"
            )


_SHORTEST: Final = 60  # seconds; enough for a controller's restart
_FIELD: Final = "ttlSecondsAfterFinished"


def warn_of_short_job_ttl(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of Jobs that delete themselves before the controller may have seen their end.

    On CREATE.
    """
    for component in submission.components:
        if component.group_kind != "batch/Job":
            continue
        seconds = spec_of(component.template).get(_FIELD)
        if type(seconds) is int and seconds < _SHORTEST:
            yield AdmissionWarning(
                f"{component.path}.template.spec.{_FIELD}: {seconds} is short: a Job that is gone "
                "before the controller saw its end counts as lost, and the AppWrapper fails; leave "
                f"it out, or use {_SHORTEST} or more"
            )
