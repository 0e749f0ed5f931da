"""What the webhook warns of and lets pass.

kubectl prints a warning as `Warning: TEXT`; the API server cuts it at 256 characters.
"""

from collections.abc import Iterator
from typing import Final

from shared.annotations import FORCEFUL_DELETION_GRACE
from shared.api.findings import AdmissionWarning
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from shared.api.objects import JsonObject, annotations, metadata
from shared.api.times import format_duration
from shared.injection.pod_template import FIELD, capped_grace_period
from shared.kinds.kind import asks_for_resources
from shared.kinds.table import BY_GROUP_KIND
from webhook.rules.annotations import is_on
from webhook.rules.submission import Component, Submission, has_pods, pod_templates


def warn_of_cut_grace_period(submission: Submission) -> Iterator[AdmissionWarning]:
    """Pods get no longer to end than a deletion may take, whatever their template says.

    On CREATE, where the template asks for a number of seconds. The controller cuts it.
    """
    longest = FORCEFUL_DELETION_GRACE.read(
        annotations(submission.request.object), submission.config.fault_tolerance
    )
    for component in submission.components:
        for path, template in pod_templates(component):
            asked = template["spec"].get(FIELD)
            if asked is not None and (cut := capped_grace_period(asked, longest)) is not None:
                yield AdmissionWarning(
                    f"{path}.spec.{FIELD}: pods get {cut} instead of {asked}, since "
                    f"{FORCEFUL_DELETION_GRACE.key} is {format_duration(longest)}"
                )


def warn_of_finalizers(submission: Submission) -> Iterator[AdmissionWarning]:
    """Finalizers in a template keep what is to be deleted, and the quota with it.

    On CREATE: those of the components and of their pods. We never remove somebody else's.
    """
    for component in submission.components:
        places: dict[str, JsonObject] = {f"{component.path}.template": component.template}
        places |= pod_templates(component)
        for path, template in places.items():
            if metadata(template).get("finalizers"):
                yield AdmissionWarning(
                    f"{path}.metadata.finalizers: until their owners remove them, nothing is gone: "
                    "resets and suspensions wait, and quota stays taken"
                )


def warn_of_lost_volume(submission: Submission) -> Iterator[AdmissionWarning]:
    """A wrapped PersistentVolumeClaim goes with every reset, and its data with it.

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


def warn_of_more_pods(submission: Submission) -> Iterator[AdmissionWarning]:
    """Pods that may come beside those that Kueue counts: they get their resources without quota.

    On CREATE. Those that come for certain, and could be counted, are refused elsewhere.
    """
    for component in submission.components:
        kind = BY_GROUP_KIND.get(component.group_kind)
        for field, what in () if kind is None else kind.beyond(component.template):
            yield AdmissionWarning(
                f"{component.path}.{field}: not counted against the quota: {what}"
            )


def warn_of_never_completing(submission: Submission) -> Iterator[AdmissionWarning]:
    """What runs for ever beside what ends keeps the AppWrapper from ever succeeding.

    On CREATE. An AppWrapper that is meant to run for ever has nothing that ends.
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


def _is_endless(component: Component) -> bool:
    kind = BY_GROUP_KIND.get(component.group_kind)
    return kind is not None and kind.ends is False


def _counts(component: Component) -> bool:
    """Towards success."""
    return not is_on(component, ANNOTATION_HELPER) and has_pods(component.raw)


def warn_of_readable_secret(submission: Submission) -> Iterator[AdmissionWarning]:
    """A wrapped Secret is no secret from those who read AppWrappers.

    On CREATE. Its content is never shown.
    """
    for component in submission.components:
        if component.group_kind == "Secret":
            yield AdmissionWarning(
                f"{component.path}: whoever may read AppWrappers can read this Secret: create it "
                "outside the AppWrapper and refer to it by name"
            )


_SHORTEST: Final = 60  # seconds; a controller is back from a restart by then
_FIELD: Final = "ttlSecondsAfterFinished"


def warn_of_short_job_ttl(submission: Submission) -> Iterator[AdmissionWarning]:
    """A Job that deletes itself soon after its end can take the news of that end with it.

    On CREATE.
    """
    for component in submission.components:
        if component.group_kind != "batch/Job":
            continue
        seconds = _spec(component.template).get(_FIELD)
        if type(seconds) is int and seconds < _SHORTEST:
            yield AdmissionWarning(
                f"{component.path}.template.spec.{_FIELD}: {seconds} is short: a Job that is gone "
                "before the controller saw its end counts as lost, and the AppWrapper fails; leave "
                f"it out, or use {_SHORTEST} or more"
            )


def _spec(template: JsonObject) -> JsonObject:
    spec = template.get("spec")
    return spec if isinstance(spec, dict) else {}


def warn_of_uncounted_resources(submission: Submission) -> Iterator[AdmissionWarning]:
    """What pods ask for in ways that Kueue does not see: they get it without quota.

    On CREATE: what Kueue's copy of an AppWrapper's pod template leaves out.
    """
    for component in submission.components:
        for path, template in pod_templates(component):
            for field, what in _uncounted(template["spec"]):
                yield AdmissionWarning(
                    f"{path}.spec.{field}: not counted against the quota: {what}"
                )


def _uncounted(spec: JsonObject) -> Iterator[tuple[str, str]]:
    if spec.get("resourceClaims"):
        yield "resourceClaims", "Kueue does not see resource claims of an AppWrapper"
    if asks_for_resources(spec.get("resources")):
        yield "resources", "Kueue only sees what each container requests: request it there"
    containers = spec.get("initContainers")
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        if not isinstance(container, dict) or container.get("restartPolicy") != "Always":
            continue
        if asks_for_resources(container.get("resources")):
            what = (
                "Kueue takes this sidecar for an init container, which is done before the pod's "
                "containers start"
            )
            yield f"initContainers[{index}].resources", what
