"""Determines how a pod runs and ends on its node: by the pod's annotations, or by a pick.

An AppWrapper with these annotations runs the same on a local cluster
(docs/maintainers/simulated-pods.md) and here.
"""

from dataclasses import dataclass, replace
from typing import Final

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject, annotations, labels
from shared.api.times import parse_duration
from shared.kinds.table import KINDS
from tests.simulation import lags

PREFIX: Final = "simulation.localcluster.dev/"
_RUN: Final = 2.0
_INDEX_LABELS: Final = [each.index_label.index for each in KINDS if each.index_label is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """How a pod runs. Times are in seconds; None: never."""

    starts_after: float = 0.0
    """In addition to the kubelet's own lag. Infinite for a pod that hangs in its start."""
    waits_for: str = "ContainerCreating"
    """The reason of its containers before they run."""
    rejected: str = ""
    """The reason with which the kubelet refuses the pod."""
    runs_for: float | None = _RUN
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    evicted: bool = False
    restarts_after: float | None = None
    """The pause of a crash loop; None: the kubelet's own, which doubles."""
    stops_after: float | None = None
    """How long it ignores SIGTERM; None: its kubelet picks."""


NEVER: Final = float("inf")


def written(pod: JsonObject, restarts: int = 0) -> Fate:
    """Return the fate by the pod's annotations. `restarts`: how often its container has ended."""
    settings = {
        key.removeprefix(PREFIX): value
        for key, value in annotations(pod).items()
        if key.startswith(PREFIX)
    }
    hang = settings.get("hang", "")
    code = _exit_code(pod, settings, restarts)
    return Fate(
        starts_after=NEVER
        if hang in ("pending", "init")
        else _seconds(settings, "start-after") or 0.0,
        waits_for="PodInitializing" if hang == "init" else "ContainerCreating",
        runs_for=None if hang == "running" else _runs_for(pod, settings),
        exit_code=code,
        reason=settings.get("reason", "Error") if code else "Completed",
        message=settings.get("termination-message", "") if code else "",
        evicted="evict-after" in settings,
        restarts_after=_seconds(settings, "restart-after"),
        stops_after=_seconds(settings, "ignore-deletion-for"),
    )


def _seconds(settings: dict[str, str], key: str) -> float | None:
    return parse_duration(settings[key]).total_seconds() if key in settings else None


def _runs_for(pod: JsonObject, settings: dict[str, str]) -> float | None:
    for key in ("evict-after", "run-for"):
        if (seconds := _seconds(settings, key)) is not None:
            return seconds
    fails = any(key in settings for key in ("exit-code", "fail-attempts", "fail-restarts"))
    return _RUN if fails or restart_policy(pod) != "Always" else None


def _exit_code(pod: JsonObject, settings: dict[str, str], restarts: int) -> int:
    counted = "fail-attempts" in settings or "fail-restarts" in settings
    code = int(settings.get("exit-code", "1" if counted else "0"))
    attempt = int(labels(pod).get(LABEL_ATTEMPT, "1"))
    index = next((labels(pod)[each] for each in _INDEX_LABELS if each in labels(pod)), "")
    spared = (
        attempt > int(settings.get("fail-attempts", attempt))
        or restarts >= int(settings.get("fail-restarts", restarts + 1))
        or (settings.get("fail-index", index) != index and "others-fail-after" not in settings)
    )
    return 0 if spared else code


def restart_policy(pod: JsonObject) -> str:
    return str(pod["spec"].get("restartPolicy") or "Always")


# Faults of a run, as picks

AS_WRITTEN: Final = "as written"
FAULTS: Final = (
    AS_WRITTEN,
    "exits with 1",
    "exits with 137",
    "is out of memory",
    "is evicted",
    "is rejected",
    "waits for its image",
)
FAULT_ODDS: Final = (0.9, 0.04, 0.01, 0.01, 0.02, 0.01, 0.01)
_FAILS_AFTER: Final = 1.0


def with_fault(fate: Fate, fault: str) -> Fate:
    """Return the fate with one of FAULTS."""
    soon = min(_FAILS_AFTER, fate.runs_for or _FAILS_AFTER)
    match fault:
        case "exits with 1":
            return replace(fate, runs_for=soon, exit_code=1, reason="Error")
        case "exits with 137":
            return replace(fate, runs_for=soon, exit_code=137, reason="Error")
        case "is out of memory":
            return replace(fate, runs_for=soon, exit_code=137, reason="OOMKilled")
        case "is evicted":
            return replace(fate, runs_for=soon, evicted=True)
        case "is rejected":
            return replace(fate, rejected="UnexpectedAdmissionError")
        case "waits for its image":
            return replace(fate, starts_after=lags.SLOW_IMAGE, waits_for="ImagePullBackOff")
    return fate
