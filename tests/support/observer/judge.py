"""Replays the changes in a cluster and reports every broken promise. Pure.

Kueue and the teams rely on these promises:

- ResourcesDeployed is never False while a labelled pod of that AppWrapper exists;
- QuotaReserved is never False while one is neither Succeeded nor Failed, nor, in Failed, Suspending
  or Terminating, while any exists (on success the quota is released while ended pods exist, and
  stays released when the AppWrapper is deleted later);
- an AppWrapper is never gone before its pods are;
- no attempt makes the component of one index twice;
- one attempt is alive at a time, and each retry is counted once (attempts.py);
- status.phase takes the drawn edges only.

An absent condition counts as False: a reader would give the quota to others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.observer.attempts import ATTEMPT_LABEL, Attempts
from tests.support.observer.change import Change
from tests.support.observer.edges import is_drawn

APPWRAPPERS: Final = "appwrappers"
PODS: Final = "pods"
UID_LABEL: Final = "workload.codeflare.dev/uid"
INDEX_LABEL: Final = "workload.codeflare.dev/component"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_GIVING_BACK: Final = frozenset({"Failed", "Suspending", "Terminating"})
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Violation:
    """`story` is the AppWrapper's history until then, one line a change."""

    namespace: str
    name: str
    uid: str
    revision: int
    broken: str
    story: tuple[str, ...]

    def __str__(self) -> str:
        head = f"AppWrapper {self.namespace}/{self.name} ({self.uid}), revision {self.revision}:"
        return "\n".join([head, f"  {self.broken}", *(f"    {line}" for line in self.story)])


@dataclass(slots=True)
class _Life:
    """The known facts of one AppWrapper, by its UID. `known` False: only its pods were seen yet."""

    known: bool = False
    revision: int = 0  # of the last change
    namespace: str = ""
    name: str = ""
    gone: bool = False
    phase: str = ""
    succeeded: bool = False  # so its quota was released for good
    conditions: dict[str, str] = field(default_factory=dict)
    pods: dict[str, tuple[str, str]] = field(default_factory=dict)  # UID -> name, phase
    # (attempt, index) -> UID -> Kind and name
    made: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    attempts: Attempts = field(default_factory=Attempts)
    changes: int = 0
    story: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)  # now, and reported already

    def holds(self, condition: str) -> bool:
        return not self.gone and self.conditions.get(condition) == "True"


class Judge:
    """`see` every change, those of one AppWrapper and its pods in the order of their revisions.

    Components may come later: the number of creations has no order. So may another AppWrapper: it
    may be gone before its watch, or a list, has shown that it was there.
    """

    def __init__(self) -> None:
        self._lives: dict[str, _Life] = {}
        self._latest: dict[tuple[str, str], _Life] = {}

    def see(self, change: Change) -> list[Violation]:
        """Returns the promises that this change broke. A lasting violation is reported once.

        Raises ValueError for an AppWrapper or a pod whose revision comes too late.
        """
        uid = change.uid if change.resource == APPWRAPPERS else change.labels[UID_LABEL]
        life = self._lives.setdefault(uid, _Life())
        if change.resource in (APPWRAPPERS, PODS):
            if change.revision < life.revision:
                raise ValueError(f"revision {change.revision} after {life.revision}")
            life.revision = change.revision
        broken = self._record(life, change)
        if not life.known:
            return []
        standing = dict(_standing(life))
        broken += [text for key, text in standing.items() if key not in life.broken]
        life.broken = set(standing)
        return [
            Violation(
                life.namespace,
                life.name,
                uid,
                change.revision,
                each,
                tuple(life.story[-_SHOWN:]),
            )
            for each in broken
        ]

    def standing(self, uid: str) -> dict[str, str]:
        """Return the promises that the state of one AppWrapper breaks now: a key, and a text."""
        life = self._lives.get(uid)
        return dict(_standing(life)) if life is not None and life.known else {}

    def forget(self, uid: str, component: str) -> None:
        """Permit that a component of an AppWrapper is made again: another client deleted it."""
        for made in self._lives[uid].made.values():
            made.pop(component, None)

    def changes_of(self, namespace: str, name: str) -> int:
        """Returns the number of writes of that AppWrapper: its watch events. 0: never seen."""
        life = self._latest.get((namespace, name))
        return life.changes if life else 0

    def story_of(self, namespace: str, name: str) -> tuple[str, ...]:
        """Returns its whole history, one line a change."""
        life = self._latest.get((namespace, name))
        return tuple(life.story) if life else ()

    def _record(self, life: _Life, change: Change) -> list[str]:
        if change.resource == APPWRAPPERS:
            return self._appwrapper(life, change)
        if change.resource == PODS:
            _pod(life, change)
        return _component(life, change)

    def _appwrapper(self, life: _Life, change: Change) -> list[str]:
        metadata, status = change.item["metadata"], change.item.get("status") or {}
        before, after = life.phase, status.get("phase") or ""
        seen_before, life.known = life.known, True
        life.namespace, life.name = metadata["namespace"], metadata["name"]
        latest = self._latest.get((life.namespace, life.name), life)
        if latest.revision <= change.revision:
            self._latest[life.namespace, life.name] = life
        life.gone = change.deleted
        life.phase = after
        life.succeeded = after == "Succeeded" or (life.succeeded and after == "Terminating")
        life.conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        life.changes += not change.deleted
        life.story.append(f"{change.revision} {_described(change)}")
        broken = life.attempts.see_appwrapper(change, before)
        if seen_before and before != after and not is_drawn(before, after):
            edge = f"went from {before or 'no phase'} to {after or 'no phase'}"
            broken.insert(0, f"{edge}: no such edge")
        return broken


def _pod(life: _Life, change: Change) -> None:
    life.attempts.see_pod(change)
    name = change.item["metadata"]["name"]
    phase = (change.item.get("status") or {}).get("phase") or "Pending"
    if change.deleted:
        life.pods.pop(change.uid, None)
        life.story.append(f"{change.revision}   pod {name} gone")
    elif life.pods.get(change.uid) != (name, phase):
        life.pods[change.uid] = name, phase
        life.story.append(f"{change.revision}   pod {name} {phase}")


def _component(life: _Life, change: Change) -> list[str]:
    """Checks an object that the AppWrapper controls: an attempt has one of each index."""
    labels = change.labels
    controllers = [
        each["uid"]
        for each in change.item["metadata"].get("ownerReferences") or ()
        if each.get("controller")
    ]
    if change.deleted or controllers != [labels.get(UID_LABEL)]:
        return []
    attempt, index = labels.get(ATTEMPT_LABEL, ""), labels.get(INDEX_LABEL, "")
    made = life.made.setdefault((attempt, index), {})
    if change.uid in made:
        return []
    made[change.uid] = f"{change.resource}/{change.item['metadata']['name']}"
    life.story.append(f"{change.revision}   made {made[change.uid]}, attempt {attempt}[{index}]")
    if len(made) == 1:
        return []
    return [f"attempt {attempt} made component {index} {len(made)} times: {[*made.values()]}"]


def _standing(life: _Life) -> Iterator[tuple[str, str]]:
    """Yields the faults of the current state: a key, and a sentence for people."""
    pods = sorted(life.pods.values())
    if not pods:
        return
    shown = ", ".join(f"{name} {phase}" for name, phase in pods)
    if both := life.attempts.at_once():
        yield "attempts", f"pods of attempts {both} are alive at once: {shown}"
    if life.gone:
        yield "gone", f"gone, while pods exist: {shown}"
        return
    if not life.holds("ResourcesDeployed"):
        yield (
            "deployed",
            f"ResourcesDeployed is not True in {life.phase}, while pods exist: {shown}",
        )
    if life.holds("QuotaReserved"):
        return
    if life.phase in _GIVING_BACK and not life.succeeded:
        yield "quota", f"QuotaReserved is not True in {life.phase}, while pods exist: {shown}"
    elif any(phase not in _ENDED for _, phase in pods):
        yield "quota", f"QuotaReserved is not True in {life.phase}, while pods run: {shown}"


def _described(change: Change) -> str:
    item: dict[str, Any] = change.item
    status, metadata = item.get("status") or {}, item["metadata"]
    held = [each["type"] for each in status.get("conditions") or () if each["status"] == "True"]
    words = [status.get("phase") or "(no phase)", *held]
    if item.get("spec", {}).get("suspend"):
        words.append("suspend")
    if "deletionTimestamp" in metadata:
        words.append("deletionTimestamp")
    return " ".join(["AppWrapper", *(["gone:"] if change.deleted else []), *words])
