"""List the rules in their order, each under the name that metrics show, and run them.

A new rule is a function in the file of its topic, and one line here. Rules are pure. An answer
contains the errors of all rules.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from shared.api.findings import AdmissionWarning, FieldError
from shared.api.objects import is_being_deleted
from webhook.admission_review import APPWRAPPER, AdmissionRequest, Operation
from webhook.rules.annotations import (
    check_annotations,
    check_changed_component_annotations,
    check_component_annotations,
    warn_of_new_unknown_annotations,
    warn_of_unknown_annotations,
)
from webhook.rules.elastic_jobs import check_elastic_jobs
from webhook.rules.immutability import check_immutability
from webhook.rules.json_patch import Change, to_patch
from webhook.rules.kinds import (
    check_access,
    check_allowed_kinds,
    check_component_namespace,
    check_direct_kind,
    check_nesting,
    warn_of_lost_volume,
    warn_of_never_completing,
    warn_of_readable_secret,
    warn_of_short_job_ttl,
)
from webhook.rules.names import check_names
from webhook.rules.node_names import check_node_names
from webhook.rules.periods import keep_grace_periods, limit_grace_periods
from webhook.rules.pod_identity import (
    check_pod_labels,
    check_priority_classes,
    check_unknown_priority_classes,
)
from webhook.rules.pod_sets import check_pod_set_count, check_pod_set_paths, declare_pod_sets
from webhook.rules.pod_templates import (
    check_pod_templates,
    fill_in_pod_templates,
    warn_of_cut_grace_period,
    warn_of_finalizers,
)
from webhook.rules.pods_after_job_end import check_direct_endings, end_left_pods
from webhook.rules.pods_without_quota import (
    check_readable_directly,
    check_uncounted_directly,
    check_uncounted_pods,
    check_uncounted_resources,
)
from webhook.rules.queue import (
    check_controller_owner,
    check_direct_owner,
    check_pod_set_infos,
    check_queue_name,
    default_direct_queue_name,
    default_queue_name,
    keep_queue_name,
    keep_quota_fields,
    warn_of_undone_suspension,
)
from webhook.rules.restarts import warn_of_earlier_restarts
from webhook.rules.restore import (
    add_finalizer,
    keep_components,
    keep_finalizer,
    keep_running,
    note_submitted_suspend,
    write_submitted_digest,
)
from webhook.rules.size_limits import (
    check_depth,
    check_number_of_components,
    check_object_size,
    warn_of_large_object,
)
from webhook.rules.submission import Facts, Submission
from webhook.rules.train_jobs import check_direct_runtime, check_train_jobs
from webhook.rules.user import keep_user, set_user, warn_of_named_user
from webhook.verdicts import Allowed, Denied, Patched, Verdict, forbidden_status, invalid_status

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig

_Found = TypeVar("_Found")
# A rule changes fields, rejects with an error of a field, or rejects a direct object with a reason.
# Any rule may warn instead.
_Rule = Callable[[Submission], Iterable[_Found | AdmissionWarning]]

# These run before all other rules and before any fact is gathered: other code may then read the
# whole AppWrapper. The first error rejects the AppWrapper.
SIZE_LIMITS: Final[dict[str, _Rule[FieldError]]] = {
    "number_of_components": check_number_of_components,
    "object_size": check_object_size,
    "depth": check_depth,
}

# Metrics show this name for malformed components, which no validation rule could read.
COMPONENTS: Final = "components"

# These add missing fields.
MUTATE_ON_CREATE: Final[dict[str, _Rule[Change]]] = {
    "queue_name": default_queue_name,
    "user": set_user,
    "named_user": warn_of_named_user,
    "pod_templates": fill_in_pod_templates,
    "inferred_pod_sets": declare_pod_sets,
    "grace_periods": limit_grace_periods,
    "submitted_digest": write_submitted_digest,
    "submitted_suspend": note_submitted_suspend,
    "finalizer": add_finalizer,
}

# These restore fields that the request dropped and add none: an addition would violate immutability
# and make Kueue's own patches fail.
MUTATE_ON_UPDATE: Final[dict[str, _Rule[Change]]] = {
    "kept_queue_name": keep_queue_name,
    "kept_user": keep_user,
    "kept_finalizer": keep_finalizer,
    "kept_components": keep_components,
    "submitted_suspend": keep_running,
    "quota_fields": keep_quota_fields,
    "grace_periods": keep_grace_periods,
}

VALIDATE_ON_CREATE: Final[dict[str, _Rule[FieldError]]] = {
    "nesting": check_nesting,
    "component_namespace": check_component_namespace,
    "allowed_kinds": check_allowed_kinds,
    "access": check_access,
    "pod_set_paths": check_pod_set_paths,
    "train_jobs": check_train_jobs,
    "pod_templates": check_pod_templates,
    "uncounted_pods": check_uncounted_pods,
    "uncounted_resources": check_uncounted_resources,
    "pod_labels": check_pod_labels,
    "priority_classes": check_priority_classes,
    "unknown_priority_classes": check_unknown_priority_classes,
    "node_names": check_node_names,
    "elastic_jobs": check_elastic_jobs,
    "pod_set_count": check_pod_set_count,
    "pod_set_infos": check_pod_set_infos,
    "queue_name": check_queue_name,
    "names": check_names,
    "annotations": check_annotations,
    "component_annotations": check_component_annotations,
}

WARN_ON_CREATE: Final[dict[str, _Rule[FieldError]]] = {
    "unknown_annotations": warn_of_unknown_annotations,
    "lost_volume": warn_of_lost_volume,
    "readable_secret": warn_of_readable_secret,
    "finalizers": warn_of_finalizers,
    "short_job_ttl": warn_of_short_job_ttl,
    "cut_grace_period": warn_of_cut_grace_period,
    "never_completes": warn_of_never_completing,
    "earlier_restarts": warn_of_earlier_restarts,
    "large_object": warn_of_large_object,
}

VALIDATE_ON_UPDATE: Final[dict[str, _Rule[FieldError]]] = {
    "immutability": check_immutability,
    "controller_owner": check_controller_owner,
    "annotations": check_annotations,
    "component_annotations": check_changed_component_annotations,
}

WARN_ON_UPDATE: Final[dict[str, _Rule[FieldError]]] = {
    "unknown_annotations": warn_of_new_unknown_annotations,
    "earlier_restarts": warn_of_earlier_restarts,
    "undone_suspension": warn_of_undone_suspension,
}

# Objects that a team's users create directly, without an AppWrapper.
MUTATE_DIRECT_KIND: Final[dict[str, _Rule[Change]]] = {
    "direct_queue_name": default_direct_queue_name,
    "direct_left_pods": end_left_pods,
}

VALIDATE_DIRECT_KIND: Final[dict[str, _Rule[FieldError | str]]] = {
    "direct_kinds": check_direct_kind,
    "direct_owner": check_direct_owner,
    "direct_readable": check_readable_directly,
    "direct_uncounted": check_uncounted_directly,
    "direct_endings": check_direct_endings,
    "direct_runtime": check_direct_runtime,
    "direct_pod_labels": check_pod_labels,
    "direct_priority_classes": check_priority_classes,
    "direct_unknown_priority_classes": check_unknown_priority_classes,
    "direct_node_names": check_node_names,
}

_ABOUT_PRIORITY_CLASSES: Final = {
    "unknown_priority_classes",
    "direct_unknown_priority_classes",
}

# The API server forwards this many in full: it keeps 4096 characters of all, 256 of each.
_MOST_WARNINGS: Final = 16

# Errors in one answer. No user reads more, and three MiB can cause a million.
_MOST_ERRORS: Final = 100
# Reasons of one rule for an object that is created directly.
_MOST_REASONS: Final = 20


def check_size_limits(request: AdmissionRequest, config: "AppWrapperConfig") -> Denied | None:
    """Reject, at both paths, an AppWrapper that no other code should have to read."""
    if request.group_kind != APPWRAPPER:
        return None
    submission = Submission(request, Facts(config))
    for name, rule in SIZE_LIMITS.items():
        if problems := _without_warnings(rule(submission), []):
            return _invalid(request, problems, [], [name])
    return None


def mutate(request: AdmissionRequest, facts: Facts) -> Verdict:
    """Return the changes of the rules: Patched, or Allowed without a change."""
    rules = MUTATE_ON_CREATE if request.operation is Operation.CREATE else MUTATE_ON_UPDATE
    if request.group_kind != APPWRAPPER:
        rules = MUTATE_DIRECT_KIND
    changes: list[Change] = []
    warnings: list[str] = []
    submission = Submission(request, facts)
    for rule in rules.values():
        changes += _without_warnings(rule(submission), warnings)
    patch = to_patch(request.object, changes)
    return Patched(patch, tuple(warnings)) if patch else Allowed(tuple(warnings))


def validate(request: AdmissionRequest, facts: Facts) -> Verdict:
    """Return Denied with all errors, or Allowed."""
    if request.group_kind != APPWRAPPER:
        return _validate_direct_kind(request, facts)
    errors: list[FieldError] = []
    warnings: list[str] = []
    blamed: list[str] = []
    for rule, findings in _findings(Submission(request, facts)):
        if found := _without_warnings(findings, warnings, _MOST_ERRORS - len(errors)):
            errors += found
            blamed.append(rule)
            if len(errors) == _MOST_ERRORS:
                break
    if errors:
        return _invalid(request, errors, warnings, blamed)
    return Allowed(tuple(warnings))


def depends_on_priority_classes(verdict: Verdict) -> bool:
    """True if the names of the cluster's PriorityClasses decided."""
    return isinstance(verdict, Denied) and not _ABOUT_PRIORITY_CLASSES.isdisjoint(verdict.rules)


def _invalid(
    request: AdmissionRequest, errors: list[FieldError], warnings: list[str], rules: list[str]
) -> Denied:
    status = invalid_status(request.display_name, errors)
    return Denied(status, tuple(warnings), tuple(rules), tuple(map(str, errors)))


def _findings(
    submission: Submission,
) -> Iterator[tuple[str, Iterable[FieldError | AdmissionWarning]]]:
    """Yield the findings of each rule after the rule's name."""
    rules = VALIDATE_ON_UPDATE | WARN_ON_UPDATE
    if submission.request.operation is Operation.CREATE:
        yield COMPONENTS, submission.malformed
        rules = VALIDATE_ON_CREATE | WARN_ON_CREATE if submission.components else {}
    for name, rule in rules.items():
        yield name, rule(submission)


def _validate_direct_kind(request: AdmissionRequest, facts: Facts) -> Verdict:
    """Check an object that is created directly in a team's namespace."""
    if not facts.is_team_namespace:
        return Allowed()
    reasons: list[str] = []
    warnings: list[str] = []
    blamed: list[str] = []
    submission = Submission(request, facts)
    for name, rule in VALIDATE_DIRECT_KIND.items():
        if found := _without_warnings(rule(submission), warnings, _MOST_REASONS):
            reasons += map(str, found)
            blamed.append(name)
    if reasons:
        status = forbidden_status(request.group_kind, request.display_name, reasons)
        return Denied(status, tuple(warnings), tuple(blamed), tuple(reasons))
    return Allowed(tuple(warnings))


def _without_warnings(
    findings: Iterable[_Found | AdmissionWarning], warnings: list[str], most: int | None = None
) -> list[_Found]:
    """Return at most `most` other findings; add the warnings before the last one to `warnings`."""
    found: list[_Found] = []
    for finding in findings:
        if not isinstance(finding, AdmissionWarning):
            found.append(finding)
            if len(found) == most:
                break
        elif len(warnings) < _MOST_WARNINGS:
            warnings.append(finding.shown)
    return found


def is_checked(request: AdmissionRequest) -> bool:
    """True for CREATE of anything in a namespace, and for UPDATE of AppWrappers.

    No rule may block the removal of a finalizer, so none checks an AppWrapper that is being
    deleted. The stored object decides about that: the submitted one could contain anything.
    """
    if request.subresource:
        return False
    if request.operation is Operation.CREATE:
        return request.group_kind == APPWRAPPER or bool(request.namespace)
    is_update = request.operation is Operation.UPDATE and request.group_kind == APPWRAPPER
    return is_update and not is_being_deleted(request.old_object)
