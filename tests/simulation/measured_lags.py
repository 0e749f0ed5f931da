"""How late the programs of a real cluster acted, by the recorded lives."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import quantiles
from typing import Final

from shared.api.objects import PODS, JsonObject, is_being_deleted
from shared.kinds.job import JOBS
from tests.simulation.actors.objects import has_ended, owner_uid, phase_of
from tests.simulation.inclusion import Life, Step

Lags = dict[str, list[float]]

_FIRST_POD: Final = "Job created -> its first pod created"
_BOUND: Final = "pod created -> bound"
_RUNS: Final = "pod bound -> running"
_COUNTED: Final = "pod ended -> the Job's status lists it"
_COMPLETE: Final = "pod ended -> the Job has ended"
_COLLECTED: Final = "owner gone -> deletion of its pod"
_REMOVED: Final = "pod's deletion -> its containers ended, or it is gone"


def lags_of(lives: Iterable[JsonObject]) -> Lags:
    """Return all measured lags, in seconds."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for each in lives:
        for what, seconds in _lags(Life(each).steps):
            found[what].append(seconds)
    return dict(found)


def table(lags: Lags) -> str:
    """Return the median, the slowest tenth and the slowest of each lag."""
    lines = [f"{'':52} {'n':>4} {'median':>8} {'90 %':>8} {'longest':>8}"]
    for what, each in lags.items():
        parts = quantiles(each, n=10, method="inclusive") if len(each) > 1 else each * 9
        lines.append(f"{what:52} {len(each):4} {parts[4]:8.3f} {parts[8]:8.3f} {max(each):8.3f}")
    return "\n".join(lines)


def _lags(steps: Iterable[Step]) -> Iterator[tuple[str, float]]:
    """Yield the time from each cause to its effect."""
    began: dict[tuple[str, str], float] = {}
    for step in steps:
        yield from _of_pod(step, began) if step.resource == PODS else _of_job(step, began)


def _of_pod(step: Step, began: dict[tuple[str, str], float]) -> Iterator[tuple[str, float]]:
    uid, owner, at, pod = step.uid, owner_uid(step.new), step.at, step.new
    old = step.old or {"spec": {}, "metadata": {}}
    if step.type == "ADDED":
        began[_BOUND, uid] = at
        yield from _since(began, _FIRST_POD, owner, at)
    if pod["spec"].get("nodeName") and not old["spec"].get("nodeName"):
        began[_RUNS, uid] = at
        yield from _since(began, _BOUND, uid, at)
    if phase_of(pod) == "Running" and phase_of(old) != "Running":
        yield from _since(began, _RUNS, uid, at)
    if has_ended(pod) and not has_ended(old) and not is_being_deleted(pod):
        began[_COUNTED, owner] = began[_COMPLETE, owner] = at
    if is_being_deleted(pod) and not is_being_deleted(old):
        began[_REMOVED, uid] = at
        if (_COLLECTED, owner) in began:
            yield _COLLECTED, at - began[_COLLECTED, owner]
    if has_ended(pod) or step.type == "DELETED":
        yield from _since(began, _REMOVED, uid, at)


def _of_job(step: Step, began: dict[tuple[str, str], float]) -> Iterator[tuple[str, float]]:
    if step.resource != JOBS:
        return
    uid, at = step.uid, step.at
    status = step.new.get("status") or {}
    if step.type == "ADDED":
        began[_FIRST_POD, uid] = at
    if step.type == "DELETED":
        began[_COLLECTED, uid] = at
    if status.get("uncountedTerminatedPods"):
        yield from _since(began, _COUNTED, uid, at)
    if any(each["type"] in ("Complete", "Failed") for each in status.get("conditions") or ()):
        yield from _since(began, _COMPLETE, uid, at)


def _since(
    began: dict[tuple[str, str], float], what: str, uid: str, at: float
) -> Iterator[tuple[str, float]]:
    if (since := began.pop((what, uid), None)) is not None:
        yield what, at - since
