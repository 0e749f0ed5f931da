"""Pods that may come beside those that Kueue counts: they get their resources without quota."""

from collections.abc import Iterator
from typing import Final

from shared.api.json import JsonObject
from shared.podsets.counts import lenient_count_at, value_or_none
from shared.podsets.ray import cluster_path, worker_groups
from webhook.component_pods import asks_for_resources
from webhook.components import Component
from webhook.notices import Notice
from webhook.submission import Submission

_SUBMITTER: Final = "template.spec.submitterPodTemplate"
_ELASTIC: Final = "template.spec.elasticPolicy"
_BEYOND: Final = "workers beyond replicas; none come where maxReplicas equals replicas"
_WORKERS: Final = "template.spec.pytorchReplicaSpecs.Worker.replicas"


def warn_of_more_pods(submission: Submission) -> Iterator[Notice]:
    """On CREATE. Those that come for certain, and could be counted, are refused elsewhere."""
    for component in submission.components:
        for field, what in _uncounted(component):
            yield Notice(f"{component.path}.{field}: not counted against the quota: {what}")


def _uncounted(component: Component) -> Iterator[tuple[str, str]]:
    template = component.template
    yield from _of_ray_cluster(template)
    if component.group_kind == "ray.io/RayJob" and _submitter_asks(template):
        yield _SUBMITTER, "Kueue does not see the pod that submits the job"
    if component.group_kind == "kubeflow.org/PyTorchJob" and _grows(template):
        yield f"{_ELASTIC}.metrics", _BEYOND


def _of_ray_cluster(template: JsonObject) -> Iterator[tuple[str, str]]:
    cluster = cluster_path(template)
    if cluster is None:
        return
    groups = list(worker_groups(template))
    for group in groups:
        if group.hosts > 1:
            yield f"{group.path}.numOfHosts", "Kueue takes each replica for one pod"
    scaling = f"{cluster}.enableInTreeAutoscaling"
    if any(group.at_most > group.counted for group in groups) and value_or_none(template, scaling):
        yield scaling, _BEYOND


def _submitter_asks(template: JsonObject) -> bool:
    containers = value_or_none(template, f"{_SUBMITTER}.spec.containers")
    return any(
        isinstance(container, dict) and asks_for_resources(container.get("resources"))
        for container in (containers if isinstance(containers, list) else ())
    )


def _grows(template: JsonObject) -> bool:
    """Whether the Training Operator makes an autoscaler that may add workers."""
    if not value_or_none(template, f"{_ELASTIC}.metrics"):
        return False
    counted = lenient_count_at(template, _WORKERS, default=1)
    at_least = lenient_count_at(template, f"{_ELASTIC}.minReplicas", default=counted)
    return lenient_count_at(template, f"{_ELASTIC}.maxReplicas", default=at_least) > counted
