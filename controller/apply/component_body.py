"""Build the object of a component, including the controller's additions to its pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import orjson

from controller.facts.observe import is_helper
from controller.facts.recorder_environment import Recording, prepare_recording
from controller.facts.recorder_injection import inject_recorder
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_RUNTIME_JOBS
from shared.api.objects import GroupVersionKind, JsonObject
from shared.injection.avoided_hosts import AvoidedHosts, keep_off
from shared.injection.component import ComponentIdentity, component_to_create
from shared.injection.fields import object_in
from shared.injection.pod_template import PodDefaults, cap_grace_periods
from shared.kinds.kind import PodSet, PodSetError, template_at
from shared.kinds.table import (
    BY_GROUP_KIND,
    component_pod_sets,
    every_pod_template,
    known_kind,
)
from shared.kinds.train_job import TRAIN_JOB, TRAINING_RUNTIME, jobs_of


@dataclass(frozen=True, slots=True)
class Additions:
    """Additions of the controller (not of the webhook) to the pod templates of one attempt.

    `longest_grace` limits the grace periods of all pods, also of those that no pod set covers.
    """

    avoided: AvoidedHosts
    recording: Recording
    longest_grace: timedelta

    def put_into(self, pod_template: JsonObject, path: str, *, is_helper: bool = False) -> None:
        """Change `pod_template` in place; a helper needs no recorder. Raises InjectionConflict."""
        keep_off(pod_template, self.avoided, path)
        if self.recording.image and not is_helper:
            inject_recorder(pod_template, self.recording.image, path)
        prepare_recording(pod_template, self.recording, path)


def component_body(
    appwrapper: AppWrapper, index: int, text: bytes, defaults: PodDefaults, additions: Additions
) -> JsonObject:
    """Return the object to create for the component `index`, whose JSON is `text`.

    Raises PodSetError and InjectionConflict; a retry cannot help.
    """
    component: JsonObject = orjson.loads(text)
    identity = ComponentIdentity(
        namespace=appwrapper.namespace,
        name=appwrapper.name,
        uid=appwrapper.uid,
        attempt=appwrapper.attempt,
        component=index,
    )
    name = appwrapper.component_statuses[index]["name"]
    pod_sets = component_pod_sets(component)
    for number, pod_set in enumerate(pod_sets):
        if pod_set.replicas < 0:  # it would hide missing pods of other pod sets
            raise PodSetError(f"podSets[{number}].replicas is {pod_set.replicas}")
    body = component_to_create(component, pod_sets, name, identity, defaults)
    for pod_set in pod_sets:
        template = template_at(body, pod_set.path)
        additions.put_into(template, pod_set.path, is_helper=is_helper(component))
    for pod_template in _pod_templates(body, pod_sets):
        cap_grace_periods(pod_template, additions.longest_grace)
    return body


def with_runtime_jobs(body: JsonObject, before: bytes) -> JsonObject:
    """Return the body; a TrainJob is annotated with the Jobs of its runtime, the component before.

    Raises PodSetError and InjectionConflict. `before`: it as JSON; empty if there is none.
    """
    if not before or known_kind(body) is not TRAIN_JOB:
        return body
    runtime = orjson.loads(before)["template"]
    if known_kind(runtime) is TRAINING_RUNTIME:
        annotations = object_in(body["metadata"], "annotations", "template.metadata")
        annotations[ANNOTATION_RUNTIME_JOBS] = jobs_of(runtime)
    return body


def _pod_templates(body: JsonObject, pod_sets: Sequence[PodSet]) -> Iterator[JsonObject]:
    """Yield the templates of all pods, with a pod set or without, possibly twice."""
    for pod_set in pod_sets:
        yield template_at(body, pod_set.path)
    gvk = GroupVersionKind.of(body["apiVersion"], body["kind"])
    if (kind := BY_GROUP_KIND.get(gvk.group_kind)) is not None:
        for _path, pod_template in every_pod_template(kind, body):
            yield pod_template
