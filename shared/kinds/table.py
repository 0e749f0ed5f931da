"""The table of all Kinds that may be wrapped, and the queries on it.

Until the status holds an AppWrapper's pod sets, Kueue computes them itself with the Go operator's
library. An `inferred` Kind must therefore give the same pod sets in the same order. For Kinds
unknown to that library, Kueue reads only the spec. If the controller inferred their pod sets, they
would appear late, and Kueue would stop a workload that it just started. The webhook therefore
writes them into the spec at creation.
"""

from collections.abc import Iterator
from typing import Final

from shared.api.conditions import NO_PROGRESS, UNFINISHED, ComponentReport, Progress
from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import PODS, JsonObject, Resource, type_of
from shared.kinds.job import JOB
from shared.kinds.job_set import JOB_SET
from shared.kinds.kind import (
    ROOT,
    Kind,
    PodSet,
    PodSetError,
    Roles,
    bounded,
    checked,
    declared_pod_sets,
    fields_at,
    optional_at,
    template_at,
)
from shared.kinds.leader_worker_set import LEADER_WORKER_SET
from shared.kinds.mpi_job import MPI_JOB
from shared.kinds.pod import POD
from shared.kinds.pytorch_job import PYTORCH_JOB
from shared.kinds.ray import RAY_CLUSTER, RAY_JOB
from shared.kinds.scaled import DEPLOYMENT, STATEFUL_SET
from shared.kinds.train_job import TRAIN_JOB, TRAINING_RUNTIME
from shared.kinds.uncounted_pods import Counter, Uncounted, resources_used
from shared.kinds.without_pods import CLAIM, CONFIG_MAP, POD_GROUP, SECRET, SERVICE, SERVICE_ACCOUNT

KINDS: Final = (
    PYTORCH_JOB,
    RAY_JOB,
    RAY_CLUSTER,
    DEPLOYMENT,
    STATEFUL_SET,
    POD,
    JOB,
    SERVICE_ACCOUNT,
    SERVICE,
    SECRET,
    CONFIG_MAP,
    CLAIM,
    POD_GROUP,
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
    TRAINING_RUNTIME,
    TRAIN_JOB,
)
BY_GROUP_KIND: Final = {each.group_kind: each for each in KINDS}
"""By `group/Kind`, or `Kind` in the core group; in any version."""
_BY_VERSION: Final = {
    (version, each.resource.kind): each for each in KINDS for version in each.versions
}


def known_kind(template: JsonObject) -> Kind | None:
    """Return the record of an object with known pod sets; None for another Kind or version."""
    return _BY_VERSION.get(_version_and_kind(template))


_UNKNOWN: Final = Kind(resource=Resource("", "", "", ""), granted="")


def record_of(group_kind: str) -> Kind:
    """Return the record of a Kind in any version; one that knows nothing of an unknown Kind."""
    return BY_GROUP_KIND.get(group_kind, _UNKNOWN)


def is_idle(group_kind: str, *, ended: bool) -> bool:
    """True if nothing makes pods for an object of this Kind, once it has `ended`.

    JobSets, MPIJobs and RayJobs are never idle: a failed JobSet still deletes Jobs that make pods,
    an MPIJob has two operators, and a RayJob leaves its RayCluster.
    """
    kind = BY_GROUP_KIND.get(group_kind)
    return kind is not None and (PODS not in kind.owns or (ended and kind.idle_after_end))


def makes_pods(template: JsonObject) -> bool:
    """True if the object's operator makes pods for it, of its own pod sets or of another's."""
    kind = known_kind(template)
    return kind is not None and PODS in kind.owns


def report_of(group_kind: str, item: JsonObject) -> ComponentReport:
    report = record_of(group_kind).report
    return UNFINISHED if report is None else report(item)


def progress_of(group_kind: str, item: JsonObject) -> Progress:
    """Return an object's counts of its pods. Never raise: users may label unreadable objects."""
    progress = record_of(group_kind).progress
    try:
        return NO_PROGRESS if progress is None else progress(item)
    except PodSetError:
        return NO_PROGRESS


def inferred_pod_sets(template: JsonObject) -> tuple[PodSet, ...] | None:
    """Return the pod sets of `template`; None for a Kind unknown to Kueue, () for no pods.

    Raise PodSetError if an object of a known Kind lacks a required part (a Job without a pod
    template) or has a count that is no number.
    """
    kind = known_kind(template)
    return _pod_sets(kind, template) if kind is not None and kind.inferred else None


def pod_sets_to_declare(template: JsonObject) -> tuple[PodSet, ...] | None:
    """Return the pod sets of `template`; None for a Kind that declares none.

    Raise PodSetError for an object without its pod template, or with impossible counts.
    """
    kind = known_kind(template)
    return None if kind is None or kind.inferred else _pod_sets(kind, template)


def component_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """Return the pod sets of one element of `spec.components`, in Kueue's order.

    Declared pod sets replace inferred ones entirely, annotations included, as in Kueue. A Kind
    without declared or inferred pod sets has none. Raise PodSetError.
    """
    declared = declared_pod_sets(component)
    if declared:
        return declared
    template = component.get("template")
    if not isinstance(template, dict):
        raise PodSetError("template is not an object")
    return inferred_pod_sets(template) or ()


def pod_sets_once_admitted(component: JsonObject) -> tuple[PodSet, ...]:
    """Return the pod sets of an element of spec.components after the webhook has declared them.

    Raise PodSetError.
    """
    return component_pod_sets(component) or pod_sets_to_declare(component["template"]) or ()


def known_versions(template: JsonObject) -> list[str]:
    """Return the known versions (`ray.io/v1`) of an object whose own version is unknown.

    [] if its own version is known, and for a Kind without known versions.
    """
    version, kind = _version_and_kind(template)
    known = sorted(
        each
        for each, same in _BY_VERSION
        if same == kind and each.rpartition("/")[0] == version.rpartition("/")[0]
    )
    return [] if version in known else known


def unreadable(template: JsonObject, counter: Counter) -> FieldError | None:
    """Return why the record of a known Kind cannot read the object; None if there is no reason.

    Such an object is refused: pods that no record can read would run uncounted.
    """
    if versions := known_versions(template):
        version, _kind = _version_and_kind(template)
        detail = f"use {' or '.join(versions)}"
        return FieldError(f"{ROOT}.apiVersion", FieldErrorKind.UNSUPPORTED, detail, quoted(version))
    kind = known_kind(template)
    try:
        for _read in _readings(kind, template, counter) if kind is not None else ():
            pass
    except PodSetError as error:
        return FieldError(ROOT, FieldErrorKind.INVALID, str(error))
    return None


def _readings(kind: Kind, template: JsonObject, counter: Counter) -> Iterator[object]:
    """Read everything that decides about the object's pods. Raise PodSetError.

    A directly created object may lack pod templates: a RayJob on an existing cluster has none.
    """
    if counter is Counter.WRAPPED:
        yield from _pod_sets(kind, template)
    elif kind.pod_sets is not None:
        yield from bounded(kind.pod_sets(template))
    yield from every_pod_template(kind, template)
    yield from uncounted(kind, template, counter)


def uncounted(kind: Kind, template: JsonObject, counter: Counter) -> Iterator[Uncounted]:
    """Yield what runs, or may run, for `template` although `counter` does not count it."""
    if kind.roles is not None:
        # Operators that accept role names in any case also make the pods of uncounted roles.
        for role, path, pod_template in _roles(kind.roles, template):
            if role not in kind.roles.counted:
                yield Uncounted(
                    path=kind.roles.path,
                    what=_unknown_role(role, kind.roles.counted),
                    uses=resources_used(pod_template),
                    certain=True,
                    template=path,
                    kind=FieldErrorKind.UNSUPPORTED,
                    value=quoted(role),
                )
    yield from kind.uncounted(template, counter)


def _unknown_role(role: str, counted: tuple[str, ...]) -> str:
    known = f"Kueue counts only {' and '.join(counted)}"
    for each in counted:
        if each.lower() == role.lower():
            return f'write "{each}" (replica types are case-sensitive; {known})'
    return f"unknown replica type: {known}"


def every_pod_template(kind: Kind, template: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the pod templates that `template` has, each with its path, counted or not.

    Raise PodSetError.
    """
    paths = list(kind.more_templates)
    if kind.roles is not None:
        for _role, path, pod_template in _roles(kind.roles, template):
            yield path, pod_template
    elif kind.pod_sets is not None:
        paths += [each.path for each in bounded(kind.pod_sets(template))]
    for path in paths:
        if optional_at(template, path) is not None:
            yield path, template_at(template, path)


def has_more_templates(kind: Kind, template: JsonObject) -> bool:
    """True if the object may have pod templates that none of its own pod sets covers."""
    if kind.more_templates:
        return True
    if kind.roles is None:
        return False
    return any(role not in kind.roles.counted for role in fields_at(template, kind.roles.path))


def _roles(roles: Roles, template: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield each role, the path of its pod template, and the template. Raise PodSetError."""
    for role, spec in fields_at(template, roles.path).items():
        path = f"{roles.path}.{role}.template"
        found = spec.get("template") if isinstance(spec, dict) else spec
        if not isinstance(found, dict | None):
            raise PodSetError(f"{path} is {type_of(found)}, not a pod template")
        yield role, path, found or {}


def _pod_sets(kind: Kind, template: JsonObject) -> tuple[PodSet, ...]:
    return () if kind.pod_sets is None else checked(template, kind.pod_sets(template))


def _version_and_kind(template: JsonObject) -> tuple[str, str]:
    """Return the key in the table: always `v1` for the core group, "" for a non-string.

    The API server and Kueue read `/v1` as `v1`: without this, such a Pod's pods would have no pod
    set.
    """
    return _text(template, "apiVersion").removeprefix("/"), _text(template, "kind")


def _text(template: JsonObject, key: str) -> str:
    value = template.get(key)
    return value if isinstance(value, str) else ""
