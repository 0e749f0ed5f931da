"""Warn of restarts and retries that precede the annotations about exit codes."""

from collections.abc import Iterable, Iterator
from typing import Final

from shared.api.findings import AdmissionWarning
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_PREFIX
from shared.api.objects import annotations
from shared.kinds.job import BACKOFF_LIMIT
from shared.kinds.job_set import restarts_in_place
from shared.kinds.kind import Kind, value_or_none
from shared.kinds.table import record_of
from webhook.rules.annotations import is_on
from webhook.rules.submission import Submission, SubmittedComponent

_EXIT_CODES: Final = ("terminalExitCodes", "retryableExitCodes")
# The kubelet restarts a container in its pod, or the Training Operator creates the pod again.
_RESTARTING: Final = {"OnFailure": "container", "Always": "container", "ExitCode": "pod"}


def warn_of_earlier_restarts(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of restarts and retries that precede the annotations about exit codes.

    On CREATE, and on UPDATE if the request adds or changes such an annotation. An exit code counts
    once its pod has failed for good: `restartPolicy` and a Job's `backoffLimit` come first.
    """
    old, new = annotations(submission.old_object), annotations(submission.object)
    keys = {name: ANNOTATION_PREFIX + name for name in _EXIT_CODES}
    named = [name for name, key in keys.items() if key in new and old.get(key) != new[key]]
    if named:
        yield from _warn_of_restarts(submission.components, named)


def _warn_of_restarts(
    components: Iterable[SubmittedComponent], named: list[str]
) -> Iterator[AdmissionWarning]:
    late = f"so {' and '.join(named)} may never apply: write"
    for component in components:
        kind = record_of(component.group_kind)
        if is_on(component, ANNOTATION_HELPER) or kind.ends is False:
            continue
        for path, policy, written in _restart_policies(component, kind):
            shown = policy if written else f"absent means {policy}, which"
            restarts = f"restarts a failed {_RESTARTING[policy]} first"
            yield AdmissionWarning(f"{path}: {shown} {restarts}, {late} Never")
        if component.record is None:
            continue
        for path, limit, default, again in _retries(component, component.record):
            shown = f"absent means {default}, which" if limit is None else f"{limit}"
            yield AdmissionWarning(f"{path}: {shown} {again} first, {late} 0")


def _restart_policies(component: SubmittedComponent, kind: Kind) -> Iterator[tuple[str, str, bool]]:
    """Yield path and value of each policy that restarts, and whether the template contains it."""
    for path, template in component.pod_templates:
        default = kind.default_restart_policy
        if kind.roles is not None:
            holder = path.removesuffix(".template")
            where = f"{holder}.restartPolicy"
            given = value_or_none(component.template, where)
            role = component.api_version, holder.rpartition(".")[2]
            default = kind.roles.restart_policies.get(role, default)
        else:
            where, given = f"{path}.spec.restartPolicy", template["spec"].get("restartPolicy")
        policy = given or default
        if isinstance(policy, str) and policy in _RESTARTING:
            yield f"{component.path}.{where}", policy, bool(given)


def _retries(
    component: SubmittedComponent, kind: Kind
) -> Iterator[tuple[str, int | None, int, str]]:
    """Yield path and value of each limit of retries that is not 0, its default, and its effect.

    The value is None if absent. A Job's `podFailurePolicy` or limit per index shows that the user
    knows about retries: no warning then. A JobSet that restarts in place requires the Jobs' limit.
    """
    template = component.template
    by_job, by_kind = "lets the Job replace failed pods", f"lets the {component.kind} retry"
    jobs = () if restarts_in_place(template) else kind.job_specs(template)
    found = [(f"{path}.backoffLimit", BACKOFF_LIMIT, by_job) for path in jobs]
    found += [(path, default, by_kind) for path, default in kind.retries(template)]
    for path, default, again in found:
        holder = value_or_none(template, path.rpartition(".")[0])
        spec = holder if isinstance(holder, dict) else {}
        if spec.get("podFailurePolicy") or spec.get("backoffLimitPerIndex") is not None:
            continue
        limit = spec.get(path.rpartition(".")[2])
        count = default if limit is None else limit
        if type(count) is int and count != 0:
            yield f"{component.path}.{path}", limit, default, again
