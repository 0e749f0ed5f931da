"""What pods are given at creation so that their failures can be explained. Pure.

The recorder (worker/) reads the environment; the kubelet reads the policy of termination messages.
Only the controller injects them, into what it creates: the AppWrapper's spec, which Kueue compares
with its Workload, stays as it is.
"""

from dataclasses import dataclass
from typing import Final

from controller.facts.error_store import records_uri
from controller.phases.snapshot import OFF, FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.fields import objects_in

# The kubelet keeps so much of one container's message, and of all messages of a pod together.
_MOST_OF_A_CONTAINER: Final = 4096
_MOST_OF_A_POD: Final = 12288
_DEFAULT_PATH: Final = "/dev/termination-log"

# What only the pod itself can know: variable -> field of the downward API.
_OF_THE_POD: Final = {
    "AW_WORKER_NAME": "metadata.name",
    "AW_POD_UID": "metadata.uid",
    "AW_NODE_NAME": "spec.nodeName",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the pods of one attempt are given. An empty `strategy`: no environment.

    `uri`: the folder of the attempt's error records; empty without a store. `log_tail`: failed
    containers that wrote no termination message show the end of their log.
    """

    strategy: str = ""
    attempt: int = 0
    uri: str = ""
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
        log_tail=operator.log_tail,
    )


def prepare_recording(pod_template: JsonObject, recording: Recording, path: str) -> None:
    """Change `pod_template`, the caller's own copy. Doing it twice changes nothing.

    A variable that a container's `env` names stays as it is. A variable from `envFrom` does not:
    the controller may not read those Secrets, and `env` takes precedence in Kubernetes. Init
    containers get no environment. Raises InjectionConflict for a field of another type than it must
    be. `path` is the template's.
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
    """Bytes of a termination message that survive, in a pod of so many containers of any sort."""
    return min(_MOST_OF_A_CONTAINER, _MOST_OF_A_POD // max(1, containers))


def _show_log_tail(container: JsonObject) -> None:
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"


def _set_environment(container: JsonObject, recording: Recording, budget: int, path: str) -> None:
    present = objects_in(container, "env", path)
    named = [each.get("name") for each in present]  # anything: the webhook may not have looked
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
    """Kubernetes replaces `$(NAME)` in values of variables, and `$$` by `$`."""
    return value.replace("$", "$$")
