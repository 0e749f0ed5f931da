"""Whether containers of a running pod crash again and again in place. Pure.

Under restartPolicy OnFailure or Always a pod's phase stays Running meanwhile, so its containers
have to be looked at:

- One restart is no loop, whatever its cause (a crash, a liveness probe, a reboot of the node).
- A loop begins with the second end within what the kubelet takes for one: it begins its back-off
  anew only after a run of ten minutes. So a pod that restarted twice a week ago is in none, and
  its third restart is again a single one.
- A loop lasts until the container has run for the stability period since its last start.
- A container that ended for good (exit code 0 under OnFailure, anything under Never) is in none.
- One that ended and cannot be started again (its image is gone, its Secret is) does not run either.
- Init containers and sidecars do not count: while the former run, the pod is Pending; the latter
  serve the others, whose own crashes tell if they cannot do without.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from shared.api.json import JsonObject
from shared.api.times import parse_time

NOT_RUNNING: Final = ""  # a container of the loop is down; nobody knows for how long
# The kubelet forgets earlier crashes of what ran that long: twice its longest back-off.
FORGIVEN_AFTER: Final = timedelta(minutes=10)

_CRASH_LOOP: Final = "CrashLoopBackOff"
# Reasons of a waiting container for which the kubelet tries again and again, or not any more.
_STUCK: Final = frozenset(
    {
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)


def crash_loop(spec: JsonObject, status: JsonObject) -> str | None:
    """None: no loop. Else when the last of the looping containers was started (RFC 3339).

    NOT_RUNNING where one of them does not run.
    """
    found: list[str] = []
    for each in status.get("containerStatuses") or ():
        if not each.get("restartCount") and "running" in (each.get("state") or {}):
            continue  # nearly all of them, nearly always
        started = _looping_since(each, _restart_policy(spec, each.get("name")))
        if started is not None:
            found.append(started)
    if not found:
        return None
    return NOT_RUNNING if NOT_RUNNING in found else max(found)


def stable_in(started: str, now: datetime, period: timedelta) -> timedelta | None:
    """How long until a pod with that crash loop counts as running; zero: it does.

    None: not by itself. A start in the future, by another clock, counts as now.
    """
    if started == NOT_RUNNING:
        return None
    left = parse_time(started) + period - now
    return max(timedelta(0), min(left, period))


def _restart_policy(spec: JsonObject, name: object) -> str:
    """A container's own one goes before the pod's."""
    containers: Iterable[JsonObject] = spec.get("containers") or ()
    own = next((each.get("restartPolicy") for each in containers if each.get("name") == name), None)
    return str(own or spec.get("restartPolicy") or "Always")


def _looping_since(container: JsonObject, policy: str) -> str | None:
    state = container.get("state") or {}
    restarts = container.get("restartCount") or 0
    last_end = (container.get("lastState") or {}).get("terminated")
    if (running := state.get("running")) is not None:
        return running.get("startedAt") if restarts > 1 and _was_short(last_end) else None
    if (ended := state.get("terminated")) is not None:
        for_good = policy == "Never" or (policy != "Always" and not ended.get("exitCode"))
        return NOT_RUNNING if restarts and not for_good and _was_short(ended) else None
    reason = (state.get("waiting") or {}).get("reason")
    if reason in _STUCK or (restarts and (reason == _CRASH_LOOP or _was_short(last_end))):
        return NOT_RUNNING
    return None


def _was_short(ended: JsonObject | None) -> bool:
    """The run that so ended; also where nobody knows how long it was."""
    try:
        began, finished = ((ended or {}).get(key) or "" for key in ("startedAt", "finishedAt"))
        return parse_time(finished) - parse_time(began) < FORGIVEN_AFTER
    except ValueError:
        return True
