"""All kubelets: they start pods, report their ends, and stop pods that are being deleted.

The next step follows from the pod as it is stored. So a node that was silent continues where its
pods should be by then.
"""

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

from shared.api.objects import NODES, PODS, JsonObject, is_being_deleted
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.fates import (
    AS_WRITTEN,
    FAULT_ODDS,
    FAULTS,
    NEVER,
    Fate,
    with_fault,
    written,
)
from tests.simulation.actors.objects import Key, has_ended, phase_of, seconds_of, title
from tests.simulation.actors.pod_statuses import (
    SIGKILL,
    SIGTERM,
    began,
    ended,
    is_looping,
    never_started,
    rejected,
    restarted,
    restarts_of,
    running,
    runs_again,
    stopped,
    waiting,
)
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster

_SEE, _WAIT, _START, _END, _RESTART = "sees", "prepares", "starts", "ends", "restarts"
_STOP, _KILL, _REMOVE = "stops", "kills", "removes"
# A program may end at once on SIGTERM, end well on it, ignore it until SIGKILL, or end as it would
# have ended without it: by a handler, or because its end was only not reported yet.
_ENDS_ON_SIGTERM: Final = ("ends", "succeeds", "ignores it", "ends with its own code")
_SIGTERM_ODDS: Final = (0.8, 0.12, 0.03, 0.05)
# A kubelet reports that a pod that it never started has failed; a simulated one just removes it.
_REMOVES_UNSTARTED: Final = ("reports it", "removes it")


class _Step(NamedTuple):
    """A step for one pod, or for all pods of a node. `deadline` is when its grace is over."""

    step: str
    about: Key
    deadline: str = ""


class Kubelet(Actor):
    """The kubelets of all nodes, except the silent ones.

    Until `faults_until` (in seconds since EPOCH) each pod may have a fault; later pods end as they
    are written.
    """

    DELAYS = lags.EVENT
    ODDS = lags.ODDS

    def __init__(self, cluster: Cluster, *, faults_until: float = 0.0) -> None:
        super().__init__(cluster)
        self._faults_until = faults_until
        self._faults: dict[str, str] = {}  # by the pod's UID
        self._titles: dict[Key, str] = {}

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == NODES and write.type != "DELETED":
            name = write.item["metadata"]["name"]
            if any(each["spec"].get("nodeName") == name for each in self.store.items(PODS)):
                yield _Step(_SEE, Key.of(NODES, write.item))
        elif write.resource == PODS and write.item["spec"].get("nodeName"):
            key = Key.of(PODS, write.item)
            if write.type == "DELETED":
                self._faults.pop(key.uid, None)
                self._titles.pop(key, None)
            elif _is_new(write):
                self._titles[key] = title(write.item)
                yield _Step(_SEE, key)

    def place(self, key: Hashable) -> str:
        assert isinstance(key, _Step)
        return f"{self.name} {key.step} {self._titles.get(key.about, key.about.name)}"

    def react(self, key: Hashable) -> None:
        assert isinstance(key, _Step)
        if key.about.resource == NODES:
            for each in self.store.items(PODS):
                if each["spec"].get("nodeName") == key.about.name:
                    self.later(_Step(_SEE, Key.of(PODS, each)))
            return
        pod = key.about.read(self.store)
        if pod is None or not self._is_heard(pod):
            return
        if key.step == _SEE:
            self._plan(key.about, pod)
        elif is_being_deleted(pod):
            self._stop(key, pod)
        elif key.step not in (_STOP, _KILL, _REMOVE) and not has_ended(pod):
            self._run_on(key, pod)

    def _is_heard(self, pod: JsonObject) -> bool:
        node = pod["spec"]["nodeName"]
        silent = node in self.cluster.silent_nodes
        return not silent and self.store.get(NODES, None, node) is not None

    def _plan(self, about: Key, pod: JsonObject) -> None:
        """Arrange the next step of the pod."""
        if is_being_deleted(pod):
            self._plan_stop(about, pod)
        elif phase_of(pod) == "Pending":
            self._plan_start(about, pod)
        elif phase_of(pod) == "Running":
            fate, since = self._fate(pod), seconds_of(began(pod))
            if is_looping(pod):
                self._at(_Step(_RESTART, about), since + _pause(fate, restarts_of(pod)))
            else:
                self._plan_end(about, fate, since)  # the node was silent until now

    def _plan_start(self, about: Key, pod: JsonObject) -> None:
        fate, step = self._fate(pod), _Step(_START, about)
        if fate.starts_after and not pod["status"].get("containerStatuses"):
            self.later(_Step(_WAIT, about))
        if fate.starts_after < NEVER and not self.awaits(step):
            lag = self._lag(f"{self.name} starts {title(pod)} after", lags.POD_START)
            self.later(step, lag + fate.starts_after)

    def _plan_stop(self, about: Key, pod: JsonObject) -> None:
        if phase_of(pod) != "Running":
            self.later(_Step(_REMOVE, about))
            return
        deadline, grace = (
            pod["metadata"][each] for each in ("deletionTimestamp", "deletionGracePeriodSeconds")
        )
        stops_after, step = self._fate(pod).stops_after, _Step(_STOP, about)
        if stops_after is not None and grace > 1:  # it ignores SIGKILL too
            self._at(step, seconds_of(deadline) - grace + stops_after)
            return
        self._at(_Step(_KILL, about, deadline), seconds_of(deadline))
        if not self.awaits(step):
            self.later(step, self._lag(f"{self.name} stops {title(pod)} after", lags.POD_STATUS))

    def _plan_end(self, about: Key, fate: Fate, since: float) -> None:
        if fate.runs_for is not None:
            self._at(_Step(_END, about), since + fate.runs_for)

    def _run_on(self, key: _Step, pod: JsonObject) -> None:
        """Start, end or restart the containers."""
        fate, now = self._fate(pod), self.now
        if key.step == _WAIT:
            self._explain(pod, fate.waits_for)
            key.about.change(self.store, waiting(fate, now))
        elif key.step == _START and fate.rejected:
            self._explain(pod, fate.rejected)
            key.about.change(self.store, rejected(fate.rejected, now))
        elif key.step == _START:
            key.about.change(self.store, running(now))
            self._plan_end(key.about, fate, now)
        elif key.step == _END and not is_looping(pod):
            if fate.exit_code or fate.evicted or runs_again(pod, 0):
                self._explain(pod, "evicted" if fate.evicted else f"exit code {fate.exit_code}")
            key.about.change(self.store, ended(fate, now))
            if not fate.evicted and runs_again(pod, fate.exit_code):
                self.later(_Step(_RESTART, key.about), _pause(fate, restarts_of(pod)))
        elif key.step == _RESTART and is_looping(pod):
            key.about.change(self.store, restarted(now))
            self._plan_end(key.about, fate, now)

    def _stop(self, key: _Step, pod: JsonObject) -> None:
        """End the containers of a pod that is being deleted, report that, then remove the pod."""
        code = self._code(key, pod) if phase_of(pod) == "Running" else None
        if code is not None:
            key.about.change(self.store, stopped(code, self.now))
            self.later(_Step(_REMOVE, key.about))
        elif key.step == _REMOVE and phase_of(pod) == "Pending" and self._reports(pod):
            key.about.change(self.store, never_started())
            self.later(_Step(_REMOVE, key.about))
        elif key.step == _REMOVE:
            key.about.delete(self.store, grace=0)

    def _code(self, key: _Step, pod: JsonObject) -> int | None:
        """Return the code with which the containers end in this step; None if they keep running."""
        fate = self._fate(pod)
        if key.step == _KILL:
            return SIGKILL
        if key.step == _END and fate.stops_after is None:
            return fate.exit_code
        if key.step != _STOP:
            return None
        place = f"{self.name}: SIGTERM to {title(pod)}"
        reaction = self.cluster.choices.pick(place, _ENDS_ON_SIGTERM, _SIGTERM_ODDS)
        codes = {"ends": SIGTERM, "succeeds": 0, "ends with its own code": fate.exit_code}
        return codes.get(reaction)

    def _reports(self, pod: JsonObject) -> bool:
        place = f"{self.name} has not started {title(pod)}"
        return self.cluster.choices.pick(place, _REMOVES_UNSTARTED, lags.RARE) == "reports it"

    def _fate(self, pod: JsonObject) -> Fate:
        """Return the pod's fate; its fault, if any, is picked when the kubelet first sees it."""
        uid = pod["metadata"]["uid"]
        if uid not in self._faults:
            open_to_faults = self.now < self._faults_until
            place = f"fate of {title(pod)}"
            self._faults[uid] = (
                self.cluster.choices.pick(place, FAULTS, FAULT_ODDS)
                if open_to_faults
                else AS_WRITTEN
            )
        return with_fault(written(pod, restarts_of(pod)), self._faults[uid])

    def _explain(self, pod: JsonObject, why: str) -> None:
        self.cluster.causes.add_for(pod, f"pod {pod['metadata']['name']}: {why}")

    def _lag(self, place: str, options: lags.Lag) -> float:
        return self.cluster.choices.pick(place, options, lags.ODDS)

    def _at(self, key: _Step, moment: float) -> None:
        self.later(key, max(0.0, moment - self.now))


def _is_new(write: Write) -> bool:
    """True if a pod was bound, or its deletion began or changed; the rest are its own reports."""
    old = write.old or {"spec": {}, "metadata": {}}
    deletion = ("deletionTimestamp", "deletionGracePeriodSeconds")
    changed = any(
        old["metadata"].get(each) != write.item["metadata"].get(each) for each in deletion
    )
    return changed or not old["spec"].get("nodeName")


def _pause(fate: Fate, restarts: int) -> float:
    """Return the pause before a restart: a second, then the kubelet's back-off."""
    if fate.restarts_after is not None:
        return fate.restarts_after
    if not restarts:
        return 1.0
    return min(lags.LONGEST_CRASH_BACK_OFF, lags.CRASH_BACK_OFF * 2.0 ** min(restarts - 1, 60))
