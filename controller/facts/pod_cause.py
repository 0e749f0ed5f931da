"""Why a pod failed or does not start, in Kubernetes' own word for it. Pure."""

import re
from collections.abc import Iterable
from typing import Final

from shared.api.conditions import condition
from shared.api.json import JsonObject

# A container's word that tells no more than its exit code does.
_TELLS_NOTHING: Final = frozenset({"", "Error", "Completed", "ContainerStatusUnknown"})
# Nobody but time is needed while a container waits for these.
_ON_ITS_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
# The kubelet alternates: it tries, and it waits before it tries again. One word for both, or the
# pod would seem to change every minute.
_ONE_OF_TWO: Final = {"ImagePullBackOff": "ErrImagePull", "CrashLoopBackOff": ""}
# As CamelCase as the API asks for, and no longer than a condition bears. Anybody may write status.
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,47}")


def pod_cause(status: JsonObject) -> str:
    """`OOMKilled`, `Evicted`, `ErrImagePull`; empty where there is no more to tell.

    `status` is the pod's. Of a failed pod its own reason comes before who disrupted it, and that
    before a container's: whoever evicts a pod ends its containers.
    """
    phase = status.get("phase")
    if phase == "Failed":
        return _first([str(status.get("reason") or ""), _disruption(status), *_ended(status)])
    if phase in (None, "Pending"):
        return _first(_waiting(status))
    return ""


def _disruption(status: JsonObject) -> str:
    """`EvictionByEvictionAPI`, `DeletionByTaintManager`, `PreemptionByScheduler`."""
    found = condition(status.get("conditions") or (), "DisruptionTarget")
    if found is None or found.get("status") != "True":
        return ""
    return str(found.get("reason") or "")


def _ended(status: JsonObject) -> Iterable[str]:
    for container in _containers(status):
        ended = (container.get("state") or {}).get("terminated") or {}
        reason = str(ended.get("reason") or "")
        if ended.get("exitCode") and reason not in _TELLS_NOTHING:
            yield reason


def _waiting(status: JsonObject) -> Iterable[str]:
    for container in _containers(status):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason not in _ON_ITS_WAY:
            yield _ONE_OF_TWO.get(reason, reason)


def _containers(status: JsonObject) -> Iterable[JsonObject]:
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(field) or ()


def _first(words: Iterable[str]) -> str:
    return next((word for word in words if _WORD.fullmatch(word)), "")
