"""The table of all Kinds that may be wrapped, and what is asked of it.

Until the status holds them, Kueue computes an AppWrapper's pod sets itself, with the Go operator's
library. So a Kind that is `inferred` must give the same pod sets in the same order. Of Kinds which
that library does not know Kueue reads the spec alone: inferred by the controller they would appear
only later, and Kueue would stop what it has just started. So the webhook writes them into the spec
when the AppWrapper is created.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from shared.api.conditions import NO_PROGRESS, UNFINISHED, ComponentReport, Progress
from shared.api.findings import FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue
from shared.kinds.job import JOB
from shared.kinds.job_set import JOB_SET
from shared.kinds.kind import (
    CLAIM,
    CONFIG_MAP,
    MOST_POD_SETS,
    POD_GROUP,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
    PodSet,
    PodSetError,
    Roles,
    checked,
    declared_pod_sets,
    value_or_none,
)
from shared.kinds.leader_worker_set import LEADER_WORKER_SET
from shared.kinds.mpi_job import MPI_JOB
from shared.kinds.pod import POD
from shared.kinds.pytorch_job import PYTORCH_JOB
from shared.kinds.ray import RAY_CLUSTER, RAY_JOB
from shared.kinds.scaled import DEPLOYMENT, STATEFUL_SET
from shared.kinds.uncounted import Counter, Uncounted, resources_used

KINDS: Final = (
    # The seeds'.
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
    # Beyond the seeds.
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
)
BY_GROUP_KIND: Final = {each.group_kind: each for each in KINDS}
"""By `group/Kind`, or `Kind` in the core group; in whatever version."""
_BY_VERSION: Final = {
    (version, each.resource.kind): each for each in KINDS for version in each.versions
}


def known_kind(template: JsonObject) -> Kind | None:
    """The record of an object whose pod sets can be told; None for another Kind or version."""
    return _BY_VERSION.get(_version_and_kind(template))


def says_something(group_kind: str) -> bool:
    """The status of such an object says something that its pods do not."""
    kind = BY_GROUP_KIND.get(group_kind)
    return kind is not None and kind.report is not None


def says_how_it_ended(group_kind: str) -> bool:
    """Its status tells of its end, so that its pods need not."""
    kind = BY_GROUP_KIND.get(group_kind)
    return kind is not None and kind.ends is True


def is_outlived(group_kind: str) -> bool:
    """What it made goes on after it, and makes a new pod for each that goes."""
    kind = BY_GROUP_KIND.get(group_kind)
    return kind is not None and kind.outlived


def report_of(group_kind: str, item: JsonObject) -> ComponentReport:
    """What an object says of itself."""
    kind = BY_GROUP_KIND.get(group_kind)
    return UNFINISHED if kind is None or kind.report is None else kind.report(item)


def progress_of(group_kind: str, item: JsonObject) -> Progress:
    """What an object says of its pods. Never raises: anybody may label what we cannot read."""
    kind = BY_GROUP_KIND.get(group_kind)
    if kind is None or kind.progress is None:
        return NO_PROGRESS
    try:
        return kind.progress(item)
    except PodSetError:
        return NO_PROGRESS


def inferred_pod_sets(template: JsonObject) -> tuple[PodSet, ...] | None:
    """The pod sets of the object `template`; None for a Kind Kueue does not know, () for no pods.

    Raises PodSetError for an object of a known Kind that lacks what its Kind must have (a Job
    without a pod template) or has a replica count that is no number.
    """
    kind = known_kind(template)
    return _pod_sets(kind, template) if kind is not None and kind.inferred else None


def pod_sets_to_declare(template: JsonObject) -> tuple[PodSet, ...] | None:
    """The pod sets of the object `template`; None for a Kind that declares none.

    Raises PodSetError for an object without its pod template, or with impossible counts.
    """
    kind = known_kind(template)
    return None if kind is None or kind.inferred else _pod_sets(kind, template)


def component_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """The pod sets of one element of `spec.components`, in Kueue's order.

    Declared ones replace inference entirely, annotations included, as in Kueue. A Kind whose pod
    sets are neither declared nor inferred has none. Raises PodSetError.
    """
    declared = declared_pod_sets(component)
    if declared:
        return declared
    template = component.get("template")
    if not isinstance(template, dict):
        raise PodSetError("template is not an object")
    return inferred_pod_sets(template) or ()


def pod_sets_once_admitted(component: JsonObject) -> tuple[PodSet, ...]:
    """The pod sets of an element of spec.components once the webhook has written what it infers.

    Raises PodSetError.
    """
    return component_pod_sets(component) or pod_sets_to_declare(component["template"]) or ()


def known_versions(template: JsonObject) -> list[str]:
    """The versions (`ray.io/v1`) to choose from, where the object's own is another one.

    [] when the object has one of them, and for a Kind that is known in none.
    """
    version, kind = _version_and_kind(template)
    known = sorted(
        each
        for each, same in _BY_VERSION
        if same == kind and each.rpartition("/")[0] == version.rpartition("/")[0]
    )
    return [] if version in known else known


def pod_sets_in_known_version(template: JsonObject) -> tuple[PodSet, ...]:
    """What the object's pod sets would be if it said a version in which they are known.

    () where they are known in none, or where the object is not built as in that version.
    """
    for version in known_versions(template):
        other = {**template, "apiVersion": version}
        try:
            if found := inferred_pod_sets(other) or pod_sets_to_declare(other):
                return found
        except PodSetError:
            continue
    return ()


def uncounted(kind: Kind, template: JsonObject, counter: Counter) -> Iterator[Uncounted]:
    """What runs of the object `template`, or may run, although `counter` does not count it."""
    if kind.roles is not None:
        # Operators that take role names in any case make pods of those that nobody counts.
        for role, path, pod_template in islice(_roles(kind.roles, template), MOST_POD_SETS):
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
    """The pod templates of the object `template`, each with its path, counted or not.

    Raises PodSetError where they are too many.
    """
    found: list[tuple[str, JsonValue]] = []
    if kind.roles is not None:
        roles = list(islice(_roles(kind.roles, template), MOST_POD_SETS + 1))
        if len(roles) > MOST_POD_SETS:
            raise PodSetError(f"{kind.roles.path} has more than {MOST_POD_SETS} roles")
        found = [(path, each) for _role, path, each in roles]
    elif kind.pod_sets is not None:
        paths = [pod_set.path for pod_set in kind.pod_sets(template)]
        found = [(path, value_or_none(template, path)) for path in paths]
    found += [(path, value_or_none(template, path)) for path in kind.more_templates]
    for path, pod_template in found:
        if isinstance(pod_template, dict):
            yield path, pod_template


def has_more_templates(kind: Kind, template: JsonObject) -> bool:
    """Whether the object may have pod templates that none of its own pod sets stands for."""
    if kind.more_templates:
        return True
    if kind.roles is None:
        return False
    specs = value_or_none(template, kind.roles.path)
    return isinstance(specs, dict) and any(role not in kind.roles.counted for role in specs)


def _roles(roles: Roles, template: JsonObject) -> Iterator[tuple[str, str, JsonValue]]:
    """Each role with the path of its pod template, and what is there."""
    specs = value_or_none(template, roles.path)
    for role, spec in specs.items() if isinstance(specs, dict) else ():
        path = f"{roles.path}.{role}.template"
        yield role, path, spec.get("template") if isinstance(spec, dict) else None


def _pod_sets(kind: Kind, template: JsonObject) -> tuple[PodSet, ...]:
    return () if kind.pod_sets is None else checked(template, kind.pod_sets(template))


def _version_and_kind(template: JsonObject) -> tuple[str, str]:
    """As in the table: `v1` in the core group, however it is written; "" for what is no text.

    The API server, and Kueue, take `/v1` for `v1`: a Pod written so would have pods that no pod
    set stands for.
    """
    api_version, kind = _text(template, "apiVersion"), _text(template, "kind")
    if api_version.startswith("/") and api_version.count("/") == 1:
        api_version = api_version[1:]
    return api_version, kind


def _text(template: JsonObject, key: str) -> str:
    value = template.get(key)
    return value if isinstance(value, str) else ""
