"""Choose the pods and the container whose logs are shown. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from cli.logs.ranks import PodRanks
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition
from shared.api.names import LABEL_ATTEMPT, LABEL_UID
from shared.api.objects import JsonObject, annotation, label
from shared.waits.words import few

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_KINDS: Final = ("containers", "initContainers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class UnknownChoice(ValueError):
    """An option names a pod or container that does not exist. The text lists the existing ones."""


class LogState(Enum):
    """How much of a container's log exists."""

    NONE = auto()  # the container has not started
    GROWING = auto()
    WHOLE = auto()  # the container has ended for good


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPod:
    """A pod and its chosen container. `container`: "" if the pod has no such container.

    `owner`, `attempt`: the AppWrapper's UID and its attempt, "" if the Go operator created the pod.
    `reason`: why there is no log yet. `is_running`: the container runs now. `is_over`: the pod has
    ended.
    """

    name: str
    uid: str
    owner: str = ""
    attempt: str = ""
    rank: int | None
    container: str
    state: LogState
    reason: str = ""
    is_running: bool = False
    is_over: bool = False
    containers: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """The beginning of its lines: `r3`, or the pod's name."""
        return self.name if self.rank is None else f"r{self.rank}"

    def is_of(self, appwrapper: AppWrapper, attempt: int) -> bool:
        """True if the pod is of this attempt."""
        return self.owner in ("", appwrapper.uid) and self.attempt in ("", f"{attempt}")


@dataclass(frozen=True, slots=True)
class LogChoice:
    """The pods that the options name; all of them if both are empty."""

    ranks: frozenset[int] = frozenset()
    pods: frozenset[str] = frozenset()

    def has(self, pod: LogPod) -> bool:
        if not self.ranks and not self.pods:
            return True
        return pod.rank in self.ranks or pod.name in self.pods

    @property
    def is_one(self) -> bool:
        """True if at most one pod can be chosen."""
        return len(self.ranks) + len(self.pods) == 1


def log_pod(pod: JsonObject, ranks: PodRanks, wanted: str = "") -> LogPod:
    """Return what the logs need of a pod. `wanted`: a container's name, "" for the default."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    names = _containers(pod)
    container = wanted if wanted in names else "" if wanted else _default(pod, names)
    is_over = status.get("phase") in ("Succeeded", "Failed")
    state, reason = _state(pod, container, is_over=is_over)
    return LogPod(
        name=metadata["name"],
        uid=metadata["uid"],
        owner=label(pod, LABEL_UID) or "",
        attempt=label(pod, LABEL_ATTEMPT) or "",
        rank=ranks.of(pod),
        container=container,
        state=state,
        reason=reason,
        is_running=bool((_status(pod, container).get("state") or {}).get("running")),
        is_over=is_over,
        containers=names,
    )


def chosen(pods: Iterable[LogPod], choice: LogChoice, wanted: str, name: str) -> list[LogPod]:
    """Return the chosen pods in the order of their ranks. `name`: the AppWrapper's.

    Raises UnknownChoice if an option names no pod, or no container.
    """
    known = sorted(pods, key=order)
    _refuse_unknown(known, choice, name)
    found = [each for each in known if choice.has(each)]
    if found and not any(each.container for each in found):
        containers = dict.fromkeys(one for each in found for one in each.containers)
        raise UnknownChoice(
            f"no chosen pod of {name} has a container {wanted}. The containers are"
            f" {few(list(containers))}"
        )
    return [each for each in found if each.container]


def order(pod: LogPod) -> tuple[bool, int, str]:
    """Sort by rank; pods without a rank are last, by name."""
    return pod.rank is None, pod.rank or 0, pod.name


def _refuse_unknown(known: Sequence[LogPod], choice: LogChoice, name: str) -> None:
    names = {each.name for each in known}
    if missing := sorted(choice.pods - names):
        raise UnknownChoice(f"{name} has no pod {missing[0]}. It has {few(sorted(names))}")
    ranks = [each.rank for each in known if each.rank is not None]
    if absent := sorted(choice.ranks - {*ranks}):
        if not ranks:
            raise UnknownChoice(f"the pods of {name} have no ranks: choose with --pod NAME")
        raise UnknownChoice(
            f"{name} has no pod of rank {absent[0]}. Its pods have ranks"
            f" {min(ranks)} to {max(ranks)}"
        )


def _containers(pod: JsonObject) -> tuple[str, ...]:
    spec = pod.get("spec") or {}
    return tuple(str(each["name"]) for kind in _KINDS for each in spec.get(kind) or ())


def _default(pod: JsonObject, names: tuple[str, ...]) -> str:
    """Return the container that kubectl would choose: the annotated one, else the first."""
    annotated = annotation(pod, _DEFAULT_CONTAINER)
    return annotated if annotated in names else next(iter(names), "")


def _status(pod: JsonObject, container: str) -> JsonObject:
    """Return the container's status; an empty one if it has none yet."""
    status = pod.get("status") or {}
    of_all = (each for kind in _STATUSES for each in status.get(kind) or ())
    return next((each for each in of_all if each.get("name") == container), {})


def _state(pod: JsonObject, container: str, *, is_over: bool) -> tuple[LogState, str]:
    found = _status(pod, container)
    state = found.get("state") or {}
    if state.get("running"):
        return LogState.GROWING, ""
    if state.get("terminated"):
        for_good = is_over or (pod.get("spec") or {}).get("restartPolicy") == "Never"
        return (LogState.WHOLE if for_good else LogState.GROWING), ""
    if found.get("restartCount"):  # it waits for its next start: the last one's log is there
        return LogState.GROWING, ""
    return LogState.NONE, _waits_for(pod, state)


def _waits_for(pod: JsonObject, state: JsonObject) -> str:
    """Return why the container has not started."""
    status = pod.get("status") or {}
    if reason := (state.get("waiting") or {}).get("reason"):
        return str(reason)
    scheduled = condition(status.get("conditions") or (), "PodScheduled") or {}
    if scheduled.get("status") == "False":
        return f"no node: {scheduled.get('message') or scheduled.get('reason') or 'Unschedulable'}"
    return str(status.get("reason") or status.get("phase") or "Pending")
