"""The statuses that a kubelet writes, reduced to the fields that a controller reads. Pure."""

from collections.abc import Callable
from typing import Any, Final

from shared.api.objects import JsonObject
from tests.simulation.actors.fates import Fate, restart_policy
from tests.simulation.actors.objects import set_condition
from tests.simulation.loop import stamp

Change = Callable[[JsonObject], None]
SIGTERM: Final = 143
SIGKILL: Final = 137
LOOPS: Final = "CrashLoopBackOff"
_EVICTED: Final = "The node was low on resource: memory."


def waiting(fate: Fate, now: float) -> Change:
    """Return the change to a pod whose containers wait before their start."""

    def change(pod: JsonObject) -> None:
        status = pod["status"]
        status.setdefault("startTime", stamp(now))
        status["containerStatuses"] = [
            _container(each["name"], 0, {"waiting": {"reason": fate.waits_for}})
            for each in pod["spec"]["containers"]
        ]
        _set_ready(pod, "False", "ContainersNotReady", now)

    return change


def running(now: float) -> Change:
    """Return the change to a pod whose containers start, all at once."""

    def change(pod: JsonObject) -> None:
        status = pod["status"]
        status["phase"] = "Running"
        status.setdefault("startTime", stamp(now))
        status["containerStatuses"] = [
            _container(each["name"], 0, {"running": {"startedAt": stamp(now)}}, ready=True)
            for each in pod["spec"]["containers"]
        ]
        _set_ready(pod, "True", "", now)

    return change


def rejected(reason: str, now: float) -> Change:
    """Return the change to a pod that its kubelet refuses to run."""

    def change(pod: JsonObject) -> None:
        pod["status"].update(phase="Failed", reason=reason, message=f"Pod was rejected: {reason}")
        pod["status"].setdefault("startTime", stamp(now))

    return change


def ended(fate: Fate, now: float) -> Change:
    """Return the change to a pod whose run is over: it ends, or its first container restarts."""

    def change(pod: JsonObject) -> None:
        if fate.evicted:
            _evict(pod, now)
        elif runs_again(pod, fate.exit_code):
            _loop(pod, fate, now)
        else:
            _end(pod, fate, now)

    return change


def stopped(code: int, now: float) -> Change:
    """Return the change to a pod whose containers ended because of its deletion."""
    reason = "Error" if code else "Completed"

    def change(pod: JsonObject) -> None:
        _end(pod, Fate(exit_code=code, reason=reason), now, every=True)

    return change


def never_started() -> Change:
    """Return the change to a pod that is deleted before its start. The kubelet knows no times."""
    unknown = {"exitCode": SIGKILL, "reason": "ContainerStatusUnknown"}

    def change(pod: JsonObject) -> None:
        pod["status"]["phase"] = "Failed"
        for each in pod["status"].get("containerStatuses") or ():
            each["state"] = {"terminated": {**unknown, "startedAt": None, "finishedAt": None}}

    return change


def restarted(now: float) -> Change:
    """Return the change to a pod whose container runs again after a pause."""

    def change(pod: JsonObject) -> None:
        for each in pod["status"]["containerStatuses"]:
            if "waiting" in each["state"]:
                each["state"] = {"running": {"startedAt": stamp(now)}}
                each.update(restartCount=each["restartCount"] + 1, ready=True)
        _set_ready(pod, "True", "", now)

    return change


def runs_again(pod: JsonObject, code: int) -> bool:
    """True if the kubelet restarts a container that ended with this code."""
    policy = restart_policy(pod)
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def restarts_of(pod: JsonObject) -> int:
    """Return how often the pod's first container has restarted."""
    return int(_first(pod).get("restartCount") or 0)


def is_looping(pod: JsonObject) -> bool:
    """True while a container waits for its next start."""
    return "waiting" in (_first(pod).get("state") or {})


def began(pod: JsonObject) -> str:
    """Return when the state of the pod's first container began: its start, or its last end."""
    first = _first(pod)
    if "waiting" in first["state"]:
        return str(first["lastState"]["terminated"]["finishedAt"])
    return str(first["state"]["running"]["startedAt"])


def _first(pod: JsonObject) -> JsonObject:
    found: list[JsonObject] = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return found[0]


def _container(name: str, restarts: int, state: JsonObject, *, ready: bool = False) -> JsonObject:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state}


def _set_ready(pod: JsonObject, status: str, reason: str, now: float) -> None:
    set_condition(pod, "Ready", status, reason, now)


def _terminated(container: JsonObject, code: int, reason: str, now: float) -> JsonObject:
    started = (container["state"].get("running") or {}).get("startedAt") or stamp(now)
    found: dict[str, Any] = {"exitCode": code, "reason": reason}
    return {**found, "startedAt": started, "finishedAt": stamp(now)}


def _end(pod: JsonObject, fate: Fate, now: float, *, every: bool = False) -> None:
    """End all containers; the first one decides, and each has its code if `every`."""
    for number, each in enumerate(pod["status"].get("containerStatuses") or ()):
        own = every or not number
        code, reason = (fate.exit_code, fate.reason) if own else (0, "Completed")
        state = _terminated(each, code, reason, now)
        if own and fate.message:
            state["message"] = fate.message
        each.update(ready=False, state={"terminated": state})
    pod["status"]["phase"] = "Failed" if fate.exit_code else "Succeeded"
    _set_ready(pod, "False", "PodFailed" if fate.exit_code else "PodCompleted", now)


def _loop(pod: JsonObject, fate: Fate, now: float) -> None:
    first = _first(pod)
    last = _terminated(first, fate.exit_code, fate.reason, now)
    if fate.message:
        last["message"] = fate.message
    first.update(ready=False, state={"waiting": {"reason": LOOPS}}, lastState={"terminated": last})
    _set_ready(pod, "False", "ContainersNotReady", now)


def _evict(pod: JsonObject, now: float) -> None:
    _end(pod, Fate(exit_code=SIGKILL, reason="Error"), now, every=True)
    pod["status"].update(reason="Evicted", message=_EVICTED)
    set_condition(pod, "DisruptionTarget", "True", "TerminationByKubelet", now, _EVICTED)
