"""Find why pods do not run, in the scheduler's and the kubelet's messages. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.api.conditions import condition
from shared.api.objects import JsonObject
from shared.waits.words import counted


class PodWait(StrEnum):
    """A pod's next step, which it waits for."""

    GATED = "scheduling gates"
    SCHEDULER = "a node"
    IMAGE = "its image"
    CONFIGURATION = "what its containers need"
    CRASHES = "a container that crashes"
    INIT = "its init containers"
    START = "its containers to start"


@dataclass(frozen=True, slots=True)
class PodTrouble:
    """Pods with the same wait and the same reason. `message` is the cluster's own."""

    waits_for: PodWait
    reason: str
    message: str
    pods: tuple[str, ...]


_IMAGE_REASONS: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
    | {"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
)
_ON_ITS_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
# The kubelet alternates between two reasons, trying and waiting: they become one.
_ONE_OF_TWO: Final = {"ImagePullBackOff": "ErrImagePull"}
# The scheduler appends the result of a preemption, with a count of nodes again.
_PREEMPTION: Final = " preemption: "
# A scheduler that supports resource claims also reports that it can release none.
_NO_CLAIMS: Final = " no new claims to deallocate,"


def pod_troubles(pods: Iterable[JsonObject]) -> tuple[PodTrouble, ...]:
    """Group the pods that neither run nor ended, most pods first, without deleted pods."""
    groups: dict[tuple[PodWait, str, str], list[str]] = {}
    for pod in pods:
        if "deletionTimestamp" not in pod["metadata"] and (found := pod_trouble(pod)):
            groups.setdefault(found, []).append(pod["metadata"]["name"])
    troubles = [PodTrouble(*found, tuple(sorted(names))) for found, names in groups.items()]
    return tuple(sorted(troubles, key=lambda each: (-len(each.pods), each.pods)))


def pod_trouble(pod: JsonObject) -> tuple[PodWait, str, str] | None:
    """Return one pod's wait, its reason and message; None if it runs without trouble."""
    status = pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    if not (pod.get("spec") or {}).get("nodeName"):
        return _unscheduled(pod)
    found = _of_containers(pod, status)
    if found is not None or status.get("phase") == "Running":
        return found
    return PodWait.START, "", ""


def _unscheduled(pod: JsonObject) -> tuple[PodWait, str, str]:
    gates = [str(each.get("name")) for each in (pod.get("spec") or {}).get("schedulingGates") or ()]
    if gates:
        return PodWait.GATED, "SchedulingGated", ", ".join(gates)
    found = condition((pod.get("status") or {}).get("conditions") or (), "PodScheduled") or {}
    message = without_preemption(str(found.get("message") or ""))
    return PodWait.SCHEDULER, str(found.get("reason") or ""), message


def without_preemption(message: str) -> str:
    """Return the scheduler's message without what it adds about preempting other pods."""
    return message.partition(_PREEMPTION)[0].removesuffix(_NO_CLAIMS)


def _of_containers(pod: JsonObject, status: JsonObject) -> tuple[PodWait, str, str] | None:
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(field) or ():
            if found := _of_container(container):
                return found
    if status.get("phase") == "Pending" and (name := _running_init_container(pod, status)):
        return PodWait.INIT, "", f"init container {name} runs"
    return None


def _running_init_container(pod: JsonObject, status: JsonObject) -> str:
    """Return the init container that must end before the others start; sidecars keep running."""
    specified = (pod.get("spec") or {}).get("initContainers") or ()
    sidecars = {each.get("name") for each in specified if each.get("restartPolicy") == "Always"}
    return next(
        (
            str(each.get("name"))
            for each in status.get("initContainerStatuses") or ()
            if "running" in (each.get("state") or {}) and each.get("name") not in sidecars
        ),
        "",
    )


def _of_container(container: JsonObject) -> tuple[PodWait, str, str] | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason == "CrashLoopBackOff":
        return PodWait.CRASHES, reason, _last_end(container)
    if reason in _ON_ITS_WAY:
        return None
    message = str(waiting.get("message") or "")
    if reason in _IMAGE_REASONS:
        # The kubelet's two messages differ although nothing else does.
        image = str(container.get("image") or "")
        return PodWait.IMAGE, _ONE_OF_TWO.get(reason, reason), f"image {image}"
    return PodWait.CONFIGURATION, reason, message


def _last_end(container: JsonObject) -> str:
    """Format `container main ended with exit code 1 (Error), 5 restarts`."""
    ended = (container.get("lastState") or {}).get("terminated") or {}
    restarts = int(container.get("restartCount") or 0)
    often = f", {counted(restarts, 'restart')}" if restarts else ""
    if "exitCode" not in ended:
        return f"container {container.get('name')} ends again and again{often}"
    why = f" ({ended['reason']})" if ended.get("reason") not in (None, "", "Error") else ""
    code = f"exit code {ended['exitCode']}{why}"
    return f"container {container.get('name')} ended with {code}{often}"
