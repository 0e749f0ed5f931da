"""The promises that a simulated run must keep, checked at every write and at the end.

`Judge` (tests/support/observer) checks the promises that the objects alone show, on real clusters
too. `Invariants` adds the promises that need more: the time, Kueue's releases, the injected causes.

A write that lands late makes a *stray*: a component or pod of another attempt, or of a phase that
cannot have one. Nothing can prevent a stray, so it breaks a promise only if it is still there after
30 seconds without a fault (strays.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from shared.api.names import (
    ANNOTATION_HELPER,
    ANNOTATION_KEEP,
    CONDITION_RESOURCES_DEPLOYED,
    LABEL_ATTEMPT,
    LABEL_COMPONENT,
)
from shared.api.names import LABEL_UID as UID
from shared.api.objects import (
    APPWRAPPERS,
    EVENTS,
    PODS,
    JsonObject,
    Resource,
    annotation,
    labels,
)
from tests.simulation.actors.objects import owner_uid
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults
from tests.simulation.outcome import Violation
from tests.simulation.strays import PATIENCE, Strays
from tests.support.builders.appwrappers import true_conditions
from tests.support.observer.change import Change
from tests.support.observer.judge import Judge

ENDED: Final = frozenset({"Succeeded", "Failed"})
# The condition with which an object reports its success. The other Kinds with pods report nothing:
# their pods must succeed.
REPORTS: Final = {"Job": "Complete", "PyTorchJob": "Succeeded", "JobSet": "Completed"}
_NOTICES: Final = 2.0  # seconds until the controller has noticed a deletion
WITHOUT: Final = frozenset({"", "Suspended", "gone"})  # phases that have no components


@dataclass(slots=True)
class _Successes:
    """The successes of the components of one AppWrapper and of their pods, by (attempt, index)."""

    succeeded: set[tuple[str, str]] = field(default_factory=set)
    pods: dict[tuple[str, str], set[str]] = field(default_factory=dict)


class Invariants:
    """Listens to all writes of a cluster.

    `late` returns whether any write of this run may come from a process that is behind: it was
    frozen, or another one works beside it.
    """

    def __init__(self, cluster: Cluster, faults: Faults, late: Callable[[], bool]) -> None:
        self.violations: list[Violation] = []
        self._cluster = cluster
        self._faults = faults
        self._strays = Strays(cluster, faults, late)
        self._judge = Judge()
        self._reported: set[tuple[str, str]] = set()
        self._successes: dict[str, _Successes] = {}
        self._phases: dict[str, str] = {}
        # By UID: the last attempt, and how many causes there were when it began.
        self._begun: dict[str, tuple[int, int]] = {}
        cluster.store.listeners.append(self._see)

    def continue_from(self, item: JsonObject) -> None:
        """Accept the phase that a run has reached: what caused it happened before."""
        uid, status = item["metadata"]["uid"], item.get("status") or {}
        self._phases[uid] = status.get("phase") or ""
        self._begun[uid] = status.get("attempt") or 0, 0
        self._cluster.causes.add(uid, "before it was stored")

    def violate(self, kind: str, text: str) -> None:
        """Record one broken promise, once."""
        if (kind, text) in self._reported:
            return
        self._reported.add((kind, text))
        violation = Violation(kind, self._cluster.loop.time(), text)
        self.violations.append(violation)
        self._cluster.tell(f"VIOLATION {violation}")

    def _see(self, write: Write) -> None:
        if write.resource is EVENTS:
            return
        uid = labels(write.item).get(UID, "")
        if write.resource is APPWRAPPERS:
            self._judge_write(write, write.item["metadata"]["uid"])
            self._see_appwrapper(write)
        elif uid:
            by_others = write.item["metadata"]["uid"] in self._cluster.causes.deleted
            if write.type == "DELETED" and by_others and owner_uid(write.item) == uid:
                self._see_deletion_by_others(write.item, uid)
            self._strays.see(write, uid)
            self._judge_write(write, uid)
            self._see_owned(write, uid)

    def _judge_write(self, write: Write, uid: str) -> None:
        deleted = write.type == "DELETED"
        change = Change(write.resource.plural, write.revision, write.item, deleted)
        found = self._judge.see(change)
        if not found:
            return
        standing = self._judge.standing(uid)
        may_be_stray = self._strays.may_be_there(uid)
        for each in found:
            tolerated = each.broken in standing.values() or write.type == "ADDED"
            if not (may_be_stray and tolerated):
                self.violate("judge", f"{each.name}: {each.broken}")
        if may_be_stray:
            for key in standing:
                self._strays.check_later(self._still_broken, uid, key)

    def _still_broken(self, uid: str, key: str) -> None:
        if text := self._judge.standing(uid).get(key):
            self.violate("judge", f"{uid}, for {PATIENCE:.0f} s: {text}")

    # AppWrappers

    def _see_appwrapper(self, write: Write) -> None:
        uid, status = write.item["metadata"]["uid"], write.item.get("status") or {}
        causes, attempt = len(self._cluster.causes.of(uid)), status.get("attempt") or 0
        if self._begun.get(uid, (0, 0))[0] != attempt:
            self._begun[uid] = attempt, causes
        before = self._phases.get(uid, "")
        after = "gone" if write.type == "DELETED" else str(status.get("phase") or "")
        if before == after:
            return
        self._phases[uid] = after
        if after == "Succeeded":
            self._see_success(write.item, uid)
        if after in ("Resetting", "Failed"):
            self._see_bad_end(write.item, uid, after)
        if after in WITHOUT or after == "Resuming":
            self._strays.check_later(self._look_for_strays, uid)

    def _see_success(self, item: JsonObject, uid: str) -> None:
        for text in self._unsuccessful(item, uid):
            self.violate("success", f"{item['metadata']['name']} Succeeded, but {text}")

    def _unsuccessful(self, item: JsonObject, uid: str) -> Iterator[str]:
        """Yield the components that count and have not reported their success."""
        successes = self._successes.get(uid, _Successes())
        attempt = str(item["status"].get("attempt"))
        listed = item["status"].get("componentStatus") or ()
        for index, component in enumerate(item["spec"]["components"]):
            sets = listed[index].get("podSets") or () if index < len(listed) else ()
            wanted = sum(each.get("replicas", 1) for each in sets)
            if not wanted or annotation(component["template"], ANNOTATION_HELPER) == "true":
                continue
            key, kind = (attempt, str(index)), component["template"]["kind"]
            done = len(successes.pods.get(key, ()))
            if key not in successes.succeeded if kind in REPORTS else done < wanted:
                yield f"{kind} {key} did not: {done} pods"

    # Deletions by another client

    def _see_deletion_by_others(self, component: JsonObject, uid: str) -> None:
        phase = self._phases.get(uid)
        if phase == "Resuming" and not self._is_calm():
            # Nothing shows a controller that starts again that this component was made.
            self._judge.forget(uid, component["metadata"]["uid"])
        ended = true_conditions(component) & {"Failed", *REPORTS.values()}
        if phase in ("Resuming", "Running") and not ended:
            self._cluster.loop.outside(_NOTICES, self._must_have_noticed, uid, component)

    def _is_calm(self) -> bool:
        """True if there was no fault for a minute: each process runs, and is not behind."""
        over_at = self._faults.over_at
        return over_at == 0.0 or over_at + 2 * PATIENCE < self._cluster.loop.now

    def _must_have_noticed(self, uid: str, component: JsonObject) -> None:
        """Check that an AppWrapper no longer runs after it lost a component without a fault."""
        item = self.appwrapper(uid)
        if item is None or self._phases.get(uid) != "Running" or not self._is_calm():
            return
        attempt = str(item["status"].get("attempt"))
        if labels(component).get(LABEL_ATTEMPT) == attempt and any(self._unsuccessful(item, uid)):
            lost = f"{component['kind']}/{component['metadata']['name']}"
            name = item["metadata"]["name"]
            self.violate("missing", f"{name} is Running {_NOTICES:g} s after it lost {lost}")

    def _see_bad_end(self, item: JsonObject, uid: str, phase: str) -> None:
        """Check that something injected explains why this attempt ends without success."""
        attempt, before = self._begun.get(uid, (0, 0))
        causes = self._cluster.causes.of(uid)
        if len(causes) <= before:
            words = [each.get("message") for each in item["status"].get("conditions") or ()]
            name = item["metadata"]["name"]
            self.violate(
                "cause", f"{name}: {phase} after attempt {attempt}, causes {causes}: {words}"
            )

    # Components and pods

    def _see_owned(self, write: Write, uid: str) -> None:
        successes = self._successes.setdefault(uid, _Successes())
        of = labels(write.item)
        key = of.get(LABEL_ATTEMPT, ""), of.get(LABEL_COMPONENT, "")
        if write.resource is PODS:
            if (write.item.get("status") or {}).get("phase") == "Succeeded":
                successes.pods.setdefault(key, set()).add(write.item["metadata"]["uid"])
        elif REPORTS.get(write.item["kind"]) in true_conditions(write.item):
            successes.succeeded.add(key)
        if write.type == "ADDED":
            self._strays.check_later(self._look_at_stray, uid, write.resource, write.item)

    def _look_for_strays(self, uid: str) -> None:
        for resource, item in self.owned(uid):
            self._look_at_stray(uid, resource, item)

    def _look_at_stray(self, uid: str, resource: Resource, item: JsonObject) -> None:
        metadata = item["metadata"]
        now = self._cluster.store.get(resource, metadata.get("namespace"), metadata["name"])
        if now is None or now["metadata"]["uid"] != metadata["uid"]:
            return
        if "deletionTimestamp" in now["metadata"] or annotation(now, ANNOTATION_KEEP) == "true":
            return
        phase = self._phases.get(uid, "")
        appwrapper = self.appwrapper(uid) or {}
        attempt = str((appwrapper.get("status") or {}).get("attempt"))
        given_up = phase == "Failed" and CONDITION_RESOURCES_DEPLOYED not in true_conditions(
            appwrapper
        )
        if phase in WITHOUT or given_up or attempt != labels(now).get(LABEL_ATTEMPT):
            made = (
                f"{resource.plural}/{metadata['name']} of attempt {labels(now).get(LABEL_ATTEMPT)}"
            )
            self.violate("stray", f"{made} is still there in {phase}, attempt {attempt}")

    def see_release(self, uid: str) -> None:
        """Check that nothing runs: Kueue gives the quota of this AppWrapper to others now."""
        now = self._cluster.loop.time()
        live = [
            item["metadata"]["name"]
            for resource, item in self.owned(uid)
            if resource is PODS and (item.get("status") or {}).get("phase") not in ENDED
        ]
        if live and not (self._strays.may_be_there(uid) and self._faults.over_at + PATIENCE > now):
            self.violate("quota", f"Kueue released the quota of {uid} while {live} live")

    def owned(self, uid: str) -> list[tuple[Resource, JsonObject]]:
        """Return all objects with the label of this AppWrapper."""
        store = self._cluster.store
        return [
            (resource, item)
            for resource in store.history
            if resource not in (APPWRAPPERS, EVENTS)
            for item in store.items(resource)
            if labels(item).get(UID) == uid
        ]

    def appwrapper(self, uid: str) -> JsonObject | None:
        """Return the AppWrapper of this UID."""
        items = self._cluster.store.items(APPWRAPPERS)
        return next((each for each in items if each["metadata"]["uid"] == uid), None)
