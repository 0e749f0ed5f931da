"""Inject the settings that explain failures into new pods. Pure.

The recorder (worker/) reads the environment; the kubelet reads the termination message policy. The
controller injects them only into objects that it creates: the AppWrapper's spec, which Kueue
compares with its Workload, remains unchanged.
"""

from dataclasses import dataclass
from typing import Final

from controller.facts.error_store import records_uri
from controller.phases.snapshot import OFF, FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.fields import objects_in

# The bytes that the kubelet keeps of one container's message, and of a pod's messages together.
_MOST_OF_A_CONTAINER: Final = 4096
_MOST_OF_A_POD: Final = 12288
_DEFAULT_PATH: Final = "/dev/termination-log"

# Values that only the pod itself knows: variable -> field of the downward API.
_OF_THE_POD: Final = {
    "AW_WORKER_NAME": "metadata.name",
    "AW_POD_UID": "metadata.uid",
    "AW_NODE_NAME": "spec.nodeName",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The settings for the pods of one attempt. An empty `strategy`: no environment.

    `uri`: the folder of the attempt's error records; empty without a store. `image`: the image of
    the recorder that the controller starts; empty: it starts none. `log_tail`: if a failed
    container wrote no termination message, the kubelet uses the end of its log.
    """

    strategy: str = ""
    attempt: int = 0
    uri: str = ""
    image: str = ""
    log_tail: bool = True


def recording_of(
    appwrapper: AppWrapper, effective: FaultTolerance, operator: ErrorAggregation
) -> Recording:
    """Return what the AppWrapper's annotations and the operator's configuration ask for."""
    if effective.error_aggregation == OFF or not operator.inject_env:
        return Recording(log_tail=operator.log_tail)
    store = operator.stores.get(effective.error_store, "")
    return Recording(
        strategy=effective.error_aggregation,
        attempt=appwrapper.attempt,
        uri=records_uri(store, appwrapper, appwrapper.attempt) if store else "",
        image=operator.recorder_image if effective.recorder else "",
        log_tail=operator.log_tail,
    )


def prepare_recording(pod_template: JsonObject, recording: Recording, path: str) -> None:
    """Change `pod_template`, the caller's own copy. A second call changes nothing.

    A variable in a container's `env` remains unchanged. A variable from `envFrom` does not: the
    controller may not read those Secrets, and `env` takes precedence in Kubernetes. Init containers
    get no environment. Raise InjectionConflict for a field of a wrong type. `path`: the template's.
    """
    spec, here = pod_template["spec"], f"{path}.spec"
    containers = objects_in(spec, "containers", here)
    init_containers = objects_in(spec, "initContainers", here)
    if recording.log_tail:
        for each in (*containers, *init_containers):
            _show_log_tail(each)
    if not recording.strategy:
        return
    budget = termination_budget(len(containers) + len(init_containers))
    for number, container in enumerate(containers):
        _set_environment(container, recording, budget, f"{here}.containers[{number}]")


def termination_budget(containers: int) -> int:
    """Return the bytes that the kubelet keeps of a message, in a pod of so many containers."""
    return min(_MOST_OF_A_CONTAINER, _MOST_OF_A_POD // max(1, containers))


def _show_log_tail(container: JsonObject) -> None:
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"


def _set_environment(container: JsonObject, recording: Recording, budget: int, path: str) -> None:
    present = objects_in(container, "env", path)
    named = [each.get("name") for each in present]  # any type: it may have bypassed the webhook
    wanted = (*_of_the_pod(), *_of_the_attempt(container, recording, budget))
    container["env"] = [*present, *(each for each in wanted if each["name"] not in named)]


def _of_the_pod() -> list[JsonObject]:
    return [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}
        for name, field in _OF_THE_POD.items()
    ]


def _of_the_attempt(container: JsonObject, recording: Recording, budget: int) -> list[JsonObject]:
    values = {
        "AW_ERROR_STRATEGY": recording.strategy,
        "AW_ATTEMPT": str(recording.attempt),
        "AW_TERMINATION_BUDGET": str(budget),
    }
    if recording.uri:
        values["AW_ERROR_URI"] = _literal(recording.uri)
    log = container.get("terminationMessagePath")
    if isinstance(log, str) and log not in ("", _DEFAULT_PATH):
        values["AW_TERMINATION_LOG"] = _literal(log)
    return [{"name": name, "value": value} for name, value in values.items()]


def _literal(value: str) -> str:
    """Escape `$`: Kubernetes replaces `$(NAME)` in values of variables, and `$$` by `$`."""
    return value.replace("$", "$$")
