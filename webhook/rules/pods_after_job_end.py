"""Make directly created jobs stop their pods when they end, are deleted or are preempted.

Kueue releases the quota at once, and no controller deletes these pods by force: the AppWrapper
controller does not own them. Pods that use counted resources must therefore end by themselves,
within the operator's forceful deletion period. Other pods have no such limit.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject
from shared.injection.pod_template import long_grace_periods
from shared.kinds.kind import Kind, elements_of, value_or_none
from shared.kinds.table import every_pod_template
from shared.kinds.uncounted_pods import LeftPods, Uncounted, resources_used
from webhook.rules.json_patch import SetField
from webhook.rules.pods_without_quota import counted_among
from webhook.rules.submission import Facts, Submission, direct_kind, in_object


def end_left_pods(submission: Submission) -> Iterator[SetField | AdmissionWarning]:
    """Set cleanPodPolicy, so that no pod keeps running after a directly created job has ended.

    On CREATE: `Running` if the field is unset and a pod uses counted resources, and a warning.

    By default the operators keep such pods, while Kueue releases their quota: a PyTorchJob has
    ended as soon as its master has.
    """
    kind = direct_kind(submission)
    if kind is None or kind.left_pods is None:
        return
    field = kind.left_pods
    if value_or_none(submission.object, field.path) is not None:
        return
    if counted := counted_among(_used(kind, submission.object), submission.config):
        yield SetField(tuple(elements_of(field.path)), field.ends[0])
        yield AdmissionWarning(
            f"{in_object(field.path)} is set to {field.ends[0]}: pods that still run when the "
            f"{kind.resource.kind} has ended would use {', '.join(counted)} without quota"
        )


def check_direct_endings(submission: Submission) -> Iterator[FieldError]:
    """Reject directly created jobs whose pods could use counted resources long after the job has
    ended.

    Yield why the object may not be created as it is, and what to write instead.
    """
    kind = direct_kind(submission)
    if kind is None:
        return
    longest = submission.config.fault_tolerance.forceful_deletion_grace_period
    found = chain(
        _left(kind.left_pods, _used(kind, submission.object), submission.object),
        kind.outlasting(submission.object, longest),
        _slow_to_end(kind, submission.object, longest),
    )
    for each in found:
        yield from _refused(each, submission.facts)


def _refused(found: Uncounted, facts: Facts) -> Iterator[FieldError]:
    if counted := counted_among(found.uses, facts.config):
        without = f"{', '.join(counted)} would be used without quota"
        detail = f"{without}: {found.what}: {found.instead}"
        yield FieldError(in_object(found.path), found.kind, detail, found.value)


def _left(field: LeftPods | None, uses: frozenset[str], target: JsonObject) -> Iterator[Uncounted]:
    """Yield the field if its value leaves pods. It is unset only if /mutate was not called."""
    if field is None or (current := value_or_none(target, field.path)) in field.ends:
        return
    yield Uncounted(
        path=field.path,
        what="pods that still run when the job has ended keep running",
        instead=f"write {' or '.join(field.ends)}",
        uses=uses,
        kind=FieldErrorKind.REQUIRED if current is None else FieldErrorKind.INVALID,
        value=None if current is None else quoted(str(current)),
    )


def _slow_to_end(kind: Kind, target: JsonObject, longest: timedelta) -> Iterator[Uncounted]:
    """Yield grace periods above `longest`: a deleted pod that ignores SIGTERM runs that long."""
    for path, template in every_pod_template(kind, target):
        for each in long_grace_periods(template, longest):
            yield Uncounted(
                path=f"{path}.{each.path}",
                what="a deleted pod may run that long",
                instead=f"write at most {each.cut}",
                uses=resources_used(template),
                kind=FieldErrorKind.INVALID,
                value="null" if each.asked is None else str(each.asked),
            )


def _used(kind: Kind, target: JsonObject) -> frozenset[str]:
    return frozenset().union(
        *(resources_used(each) for _path, each in every_pod_template(kind, target))
    )
