"""The order of the rules: this file is the list of what the webhook does.

A new rule is a file of its own and one line here. Rules are pure; all errors come at once.
"""

from collections.abc import Callable, Iterable
from typing import Final

from shared.api import names
from shared.api.field_errors import FieldError
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest, Operation
from webhook.components import components_of
from webhook.invalid_status import invalid_status
from webhook.json_patch import SetField, to_patch
from webhook.metadata import is_being_deleted
from webhook.mutate.pod_set_infos import keep_pod_set_infos
from webhook.mutate.queue_name import default_queue_name, keep_queue_name
from webhook.mutate.user_labels import keep_user_labels, set_user_labels
from webhook.submission import Submission
from webhook.validate.allowed_kinds import check_allowed_kinds
from webhook.validate.component_namespace import check_component_namespace
from webhook.validate.immutability import check_immutability
from webhook.validate.nesting import check_nesting
from webhook.validate.pod_set_count import check_pod_set_count
from webhook.validate.pod_set_paths import check_pod_set_paths
from webhook.verdicts import Allowed, Denied, Patched, Verdict

_MutationRule = Callable[[AdmissionRequest, AppWrapperConfig], Iterable[SetField]]

# Adds what is missing.
MUTATE_ON_CREATE: Final[tuple[_MutationRule, ...]] = (
    default_queue_name,
    set_user_labels,
)

# Puts back what the request dropped, never adds: adding would collide with immutability, and would
# make Kueue's own patches fail.
MUTATE_ON_UPDATE: Final[tuple[_MutationRule, ...]] = (
    keep_queue_name,
    keep_user_labels,
    keep_pod_set_infos,
)

VALIDATE_ON_CREATE: Final[tuple[Callable[[Submission], Iterable[FieldError]], ...]] = (
    check_nesting,
    check_component_namespace,
    check_allowed_kinds,
    check_pod_set_paths,
    check_pod_set_count,
)

VALIDATE_ON_UPDATE: Final[tuple[Callable[[AdmissionRequest], Iterable[FieldError]], ...]] = (
    check_immutability,
)

_APPWRAPPER: Final = f"{names.GROUP}/{names.KIND}"


def mutate(request: AdmissionRequest, config: AppWrapperConfig) -> Verdict:
    """What to change: Patched, or Allowed when there is nothing to do."""
    if not _is_judged(request):
        return Allowed()
    rules = MUTATE_ON_CREATE if request.operation is Operation.CREATE else MUTATE_ON_UPDATE
    changes = [change for rule in rules for change in rule(request, config)]
    patch = to_patch(request.object, changes)
    return Patched(patch) if patch else Allowed()


def validate(request: AdmissionRequest, config: AppWrapperConfig) -> Verdict:
    """Denied with every error, or Allowed."""
    if not _is_judged(request):
        return Allowed()
    if request.operation is Operation.CREATE:
        components, errors = components_of(request.object)
        if components:
            submission = Submission(request, components, config, incomplete=bool(errors))
            errors += [error for rule in VALIDATE_ON_CREATE for error in rule(submission)]
    else:
        errors = [error for rule in VALIDATE_ON_UPDATE for error in rule(request)]
    return Denied(invalid_status(request, errors)) if errors else Allowed()


def _is_judged(request: AdmissionRequest) -> bool:
    """CREATE and UPDATE of AppWrappers themselves, but not of those being deleted.

    Nothing may keep a finalizer from going. Only the stored object says so: the submitted one
    could claim anything.
    """
    if request.group_kind != _APPWRAPPER or request.subresource:
        return False
    if request.operation is Operation.UPDATE:
        return not is_being_deleted(request.old_object)
    return request.operation is Operation.CREATE
