"""Build the object of a component, including the controller's additions to its pods."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import orjson

from controller.facts.recorder_environment import Recording, prepare_recording
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.injection.avoided_hosts import AvoidedHosts, keep_off
from shared.injection.component import ComponentIdentity, component_to_create
from shared.injection.pod_template import PodDefaults, cap_grace_period
from shared.kinds.kind import PodSet, PodSetError, template_at
from shared.kinds.table import component_pod_sets


@dataclass(frozen=True, slots=True)
class Additions:
    """Additions of the controller (not of the webhook) to the pod templates of one attempt.

    `longest_grace` limits the pods' terminationGracePeriodSeconds.
    """

    avoided: AvoidedHosts
    recording: Recording
    longest_grace: timedelta

    def put_into(self, pod_template: JsonObject, path: str) -> None:
        """Change `pod_template` in place. Raises InjectionConflict."""
        keep_off(pod_template, self.avoided, path)
        prepare_recording(pod_template, self.recording, path)
        cap_grace_period(pod_template, self.longest_grace)


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
    _check_counts(pod_sets)
    body = component_to_create(component, pod_sets, name, identity, defaults)
    for pod_set in pod_sets:
        additions.put_into(template_at(body, pod_set.path), pod_set.path)
    return body


def _check_counts(pod_sets: Sequence[PodSet]) -> None:
    """Raise PodSetError for a negative count, which would hide missing pods of other pod sets."""
    for number, pod_set in enumerate(pod_sets):
        if pod_set.replicas < 0:
            raise PodSetError(f"podSets[{number}].replicas is {pod_set.replicas}")
