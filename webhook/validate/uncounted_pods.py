"""Pods that an object's operator makes for certain, though no pod set stands for them.

They would run without quota. Kueue reads counts more plainly than the operators do, and a user can
always write them so that both agree.
"""

from collections.abc import Iterator
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.podsets.counts import value_or_none
from shared.podsets.declared import component_pod_sets
from shared.podsets.pod_set import PodSetError
from shared.podsets.ray import worker_groups
from webhook.components import Component
from webhook.submission import Submission

# Kinds whose operator takes role names in any case, with the only names that are counted.
_ROLES: Final = {
    "kubeflow.org/PyTorchJob": ("template.spec.pytorchReplicaSpecs", ("Master", "Worker")),
    "kubeflow.org/MPIJob": ("template.spec.mpiReplicaSpecs", ("Launcher", "Worker")),
}


def check_uncounted_pods(submission: Submission) -> Iterator[FieldError]:
    """On CREATE."""
    for component in submission.components:
        yield from _unknown_roles(component)
        yield from _more_workers_than_replicas(component)


def _unknown_roles(component: Component) -> Iterator[FieldError]:
    """Measured: the Training Operator takes `worker` for `Worker`, unless its own webhook is on."""
    if component.group_kind not in _ROLES:
        return
    path, names = _ROLES[component.group_kind]
    roles = value_or_none(component.template, path)
    if not isinstance(roles, dict):
        return
    counted = _paths(component)
    for role in roles:
        if role not in names and f"{path}.{role}.template" not in counted:
            yield FieldError(
                f"{component.path}.{path}",
                FieldErrorKind.UNSUPPORTED,
                f"only the pods of {' and '.join(names)}, written so, are counted",
                quoted(role),
            )


def _paths(component: Component) -> set[str]:
    try:
        return {pod_set.path for pod_set in component_pod_sets(component.raw)}
    except PodSetError:
        return set()  # an error of its own


def _more_workers_than_replicas(component: Component) -> Iterator[FieldError]:
    """Measured: KubeRay makes minReplicas workers where replicas says fewer."""
    for group in worker_groups(component.template):
        if group.at_least > group.counted:
            yield FieldError(
                f"{component.path}.{group.path}.minReplicas",
                FieldErrorKind.INVALID,
                "KubeRay makes at least so many workers, but quota is reserved for "
                f"{group.counted}: write as many replicas, or a lower minReplicas",
                str(group.at_least),
            )
