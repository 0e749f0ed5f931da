"""Reject pods that run beside those that Kueue counts, wrapped or created directly.

In team namespaces the rules reject them if they use a counted resource: a key of `resourceTaints`,
one of `countedResources`, or any resource of a device plugin. For cpu and memory they only warn.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.kinds.kind import ROOT
from shared.kinds.table import record_of, uncounted, unreadable
from shared.kinds.uncounted_pods import (
    RESOURCE_CLAIMS,
    Counter,
    Uncounted,
    beyond_the_copy,
    is_extended,
    resources_used,
)
from webhook.rules.submission import (
    Facts,
    Submission,
    SubmittedComponent,
    in_object,
    is_checked_directly,
    spec_of,
)

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig


def check_uncounted_pods(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """Reject pods that no pod set counts, also those that may come later.

    On CREATE. Refused in team namespaces if the pods use counted resources, else a warning. Pods
    that come for certain, and that Kueue could count, are refused everywhere: a user can always
    write the component so that Kueue and the Kind's operator count the same.
    """
    for component in submission.components:
        if component.record is None:
            continue
        for found in uncounted(component.record, component.template, Counter.WRAPPED):
            declared = {each.path for each in component.pod_sets}
            if found.template not in declared:
                place = component.place(found.path)
                yield _finding(found, place, submission.facts, refused=found.certain)


def check_uncounted_resources(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """Reject resources that Kueue does not count: of sidecars, of pod-level requests, of resource
    claims.

    On CREATE. Refused in team namespaces if the pods use counted resources, else a warning.
    Resource claims are refused there by configuration `resourceClaims`, except with `Warn`.

    Kueue counts wrapped pods on a copy of the pod template that omits some fields.
    """
    for component in submission.components:
        templates = list(component.pod_templates)
        for path, template in templates:
            spec = template["spec"]
            if not (spec.get("initContainers") or spec.get("resources")):
                continue  # the usual case
            for found in beyond_the_copy(spec):
                place = component.place(f"{path}.spec.{found.path}")
                yield _finding(found, place, submission.facts)
        what = "Kueue does not see resource claims of an AppWrapper"
        templates += component.other_pod_templates
        yield from _check_claims(component, templates, what, submission.facts)


def check_readable_directly(submission: Submission) -> Iterator[str]:
    """Reject directly created objects that the record of their Kind cannot read.

    Yield why the object may not be created as it is, and what to write instead.

    An unknown version of a known Kind, or a shape beyond the record's bounds: its pods would be
    counted as nothing.
    """
    if not is_checked_directly(submission):
        return
    if error := unreadable(submission.object, Counter.DIRECT):
        yield in_object(error.detail if error.path == ROOT else str(error))


def check_uncounted_directly(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """Reject pods of directly created objects for which Kueue reserves no quota.

    Yield why the object may not be created as it is, and what to write instead.
    """
    for created in submission.of_team:
        for found in uncounted(record_of(created.group_kind), created.template, Counter.DIRECT):
            yield _finding(found, created.place(found.path), submission.facts)
        yield from _check_direct_claims(created, submission.facts)


def _finding(
    found: Uncounted, path: str, facts: Facts, *, refused: bool = False
) -> FieldError | AdmissionWarning:
    counted = counted_among(found.uses, facts.config) if facts.is_team_namespace else []
    if not refused and not counted:
        return AdmissionWarning(f"{path}: not counted against the quota: {found.what}")
    advice = f"{found.what}: {found.instead}" if found.instead else found.what
    if found.kind is FieldErrorKind.FORBIDDEN:
        advice = f"{', '.join(counted)} would be used without quota: {advice}"
    return FieldError(path, found.kind, advice, found.value)


def counted_among(resources: frozenset[str], config: "AppWrapperConfig") -> list[str]:
    """Return, sorted, the resources that no pod of a team may use uncounted."""
    named: Mapping[str, object] = config.autopilot.resource_taints
    return sorted(
        each
        for each in resources
        if each in named
        or each in config.counted_resources
        or is_extended(each)
        or (each == RESOURCE_CLAIMS and config.resource_claims == "Count")
    )


def uses_counted(pod_template: JsonValue, facts: Facts) -> bool:
    """True if pods of this template must not run uncounted: only in team namespaces."""
    used = resources_used(pod_template) if facts.is_team_namespace else frozenset()
    return bool(counted_among(used, facts.config))


def _check_claims(
    component: SubmittedComponent,
    templates: Iterable[tuple[str, JsonObject]],
    what: str,
    facts: Facts,
) -> Iterator[FieldError | AdmissionWarning]:
    for template_path, template in templates:
        if not spec_of(template).get("resourceClaims"):
            continue
        path = component.place(f"{template_path}.spec.resourceClaims")
        policy = facts.config.resource_claims
        if not facts.is_team_namespace or policy == "Warn":
            yield AdmissionWarning(f"{path}: not counted against the quota: {what}")
            continue
        detail = f"{what}: request devices in the containers' resources"
        if policy == "Reject":
            detail += ", or have an admin allow claims (configuration resourceClaims)"
        yield FieldError(path, FieldErrorKind.FORBIDDEN, detail)


def _check_direct_claims(
    created: SubmittedComponent, facts: Facts
) -> Iterator[FieldError | AdmissionWarning]:
    """Reject claims that Kueue does not count. With `Count` these are claims that no template makes
    for each pod. Other rules reject claims of pods that Kueue does not count.

    Kueue itself admits no object whose claim templates it cannot count.
    """
    templates = created.all_pod_templates
    if facts.config.resource_claims != "Count":
        yield from _check_claims(
            created, templates, "not every Kueue counts resource claims", facts
        )
    else:
        for template_path, template in templates:
            for index, claim in enumerate(spec_of(template).get("resourceClaims") or ()):
                if not (isinstance(claim, dict) and claim.get("resourceClaimTemplateName")):
                    path = created.place(f"{template_path}.spec.resourceClaims[{index}]")
                    yield FieldError(path, FieldErrorKind.FORBIDDEN, _FROM_TEMPLATE)


_FROM_TEMPLATE: Final = (
    "Kueue counts only claims that each pod gets from a template: set resourceClaimTemplateName"
)
