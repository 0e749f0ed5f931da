"""The Job controller makes pods from what it last read, and counts each ended pod once.

One sync of the real controller is several requests. Others may act between them, so each is a step
of its own here: the pods, the status with the pods to count, their finalizers, the final counts.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from shared.api.objects import PODS, JsonObject, controller_of
from shared.kinds.job import JOBS
from shared.kube.responses import ApiError
from tests.simulation import lags
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.job_counts import (
    TRACKING,
    Figures,
    JobCounts,
    Verdict,
    is_tracked,
    uid_of,
)
from tests.simulation.actors.job_writes import counted, is_due, pod_of, tracked
from tests.simulation.actors.objects import (
    Key,
    owner_uid,
    seconds_of,
    without_finalizer,
)
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster

_SEE, _BATCHED, _BACK_OFF, _DEADLINE, _SYNC, _CREATE, _TRACK, _RELEASE, _COUNT = (
    "sees a change of",
    "syncs after changes of",
    "syncs after a pause for",
    "syncs at the deadline of",
    "syncs",
    "creates a pod of",
    "tracks",
    "releases pods of",
    "counts",
)

_SYNCS = (_SYNC, _BATCHED, _BACK_OFF, _DEADLINE)


class _Step(NamedTuple):
    """A step for the Job of this name and UID."""

    step: str
    namespace: str
    name: str
    uid: str


class JobController(Actor):
    """Reacts to a Job at once, and to its pods a second later, as the real one does."""

    DELAYS = lags.EVENT
    ODDS = lags.ODDS

    def wants(self, write: Write) -> Iterable[Hashable]:
        metadata = write.item["metadata"]
        if write.resource == JOBS:
            old = write.old["metadata"] if write.old and write.type == "MODIFIED" else {}
            same = metadata.get("generation") == old.get("generation")
            step = _SEE if same else _SYNC  # a change of the status alone is not urgent
            yield _Step(step, metadata["namespace"], metadata["name"], metadata["uid"])
        elif write.resource == PODS:
            owner = controller_of(write.item)
            if owner is not None and owner.kind == "Job":
                yield _Step(_SEE, metadata["namespace"], owner.name, owner.uid)

    def place(self, key: Hashable) -> str:
        assert isinstance(key, _Step)
        return f"{self.name} {key.step} {key.name}"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._busy: set[str] = set()  # UIDs of Jobs whose sync has not ended
        self._batches: dict[str, list[JsonObject]] = {}  # pods to create, by the Job's UID
        self._figures: dict[str, Figures] = {}  # of the current sync, by the Job's UID
        self._failures: dict[str, tuple[frozenset[str], float]] = {}  # pods; when the last failed

    def react(self, key: Hashable) -> None:
        assert isinstance(key, _Step)
        if key.step == _CREATE:
            self._create(key)
            return
        known = Key(JOBS, key.namespace, key.name, key.uid)
        job = known.read(self.store)
        pods = [
            each for each in self.store.items(PODS, key.namespace) if owner_uid(each) == key.uid
        ]
        counts = JobCounts(job, pods) if job is not None else None
        if job is None or counts is None or counts.is_finished:
            self._busy.discard(key.uid)
            self._failures.pop(key.uid, None)
            self._release(pods)
        elif key.step == _SEE:
            self.later(key._replace(step=_BATCHED), lags.JOB_BATCH)
        elif key.step in _SYNCS:
            if key.uid in self._busy:
                self.later(key)  # two workers never sync one Job
            else:
                self._busy.add(key.uid)
                self._manage(key, job, counts)
        elif key.step == _TRACK:
            self._track(key, known, counts)
        elif key.step == _RELEASE:
            self._release_counted(key, counts)
        else:
            self._count(key, known, counts)

    # Pods

    def _manage(self, key: _Step, job: JsonObject, counts: JobCounts) -> None:
        batch: list[JsonObject] = []
        gone: list[JsonObject] = []
        wait = self._back_off(key.uid, counts)
        deadline = counts.spec.get("activeDeadlineSeconds")
        if deadline is not None and not counts.suspended:
            self.later(key._replace(step=_DEADLINE), max(0.0, deadline - self._running_for(counts)))
        if self._verdict(counts) is not None:
            gone = counts.active
        elif not counts.deleting:
            gone = counts.active[counts.wanted() :]
            self._release(gone)
            missing = [] if gone else counts.missing()
            if missing and wait > 0:
                self.later(key._replace(step=_BACK_OFF), wait)
            else:
                batch = [pod_of(job, index) for index in missing]
        self._delete(gone)
        self._batches[key.uid] = batch
        self._figures[key.uid] = counts.figures(gone, len(batch))
        verdict = self._verdict(counts) or counts.success(len(counts.active))
        if batch or gone or is_due(job, counts, verdict, self.now):
            self.later(key._replace(step=_CREATE if batch else _TRACK))
        else:
            self._busy.discard(key.uid)  # nothing to write

    def _create(self, key: _Step) -> None:
        """Create the next pod of a batch, whatever became of the Job since it was read."""
        batch = self._batches[key.uid]
        try:
            self.store.create(PODS, key.namespace, batch.pop(0))
        except ApiError:
            figures = self._figures[key.uid]
            self._figures[key.uid] = replace(figures, active=figures.active - 1 - len(batch))
            batch.clear()  # the real one gives up a batch after the first errors
        self.later(key._replace(step=_CREATE if batch else _TRACK))

    def _delete(self, pods: Sequence[JsonObject]) -> None:
        for each in pods:
            Key.of(PODS, each).delete(self.store)

    def _release(self, pods: Iterable[JsonObject]) -> None:
        for each in pods:
            if is_tracked(each):
                Key.of(PODS, each).change(self.store, without_finalizer(TRACKING))

    # Counting

    def _verdict(self, counts: JobCounts) -> Verdict | None:
        return counts.known_verdict() or counts.failure(self._running_for(counts))

    def _running_for(self, counts: JobCounts) -> float:
        started = counts.status.get("startTime")
        return self.now - seconds_of(started) if started else 0.0

    def _track(self, key: _Step, known: Key, counts: JobCounts) -> None:
        """Write which pods will be counted, before their finalizers go."""
        verdict = self._verdict(counts) or counts.success(len(counts.active))
        if counts.active:
            verdict = None  # until the next sync
        known.change(self.store, tracked(counts, self._figures[key.uid], verdict, self.now))
        self.later(key._replace(step=_RELEASE))

    def _release_counted(self, key: _Step, counts: JobCounts) -> None:
        over = counts.deleting or counts.known_verdict() is not None
        self._release(each for each in counts.pods if over or counts.is_counted(each))
        self.later(key._replace(step=_COUNT))

    def _count(self, key: _Step, known: Key, counts: JobCounts) -> None:
        """Add the pods without a finalizer to the counts, and end the Job if none is left."""
        known.change(self.store, counted(counts, self._figures[key.uid], self.now))
        self._busy.discard(key.uid)

    # Back-off

    def _back_off(self, uid: str, counts: JobCounts) -> float:
        """Return how long to wait before the next pod: longer after each failure in a row."""
        known, last = self._failures.get(uid, (frozenset(), 0.0))
        if counts.new("succeeded"):
            known = frozenset()
        failed = {*map(uid_of, counts.new("failed")), *counts.uncounted["failed"]}
        if not failed <= known:
            known, last = known | failed, self.now
        self._failures[uid] = known, last
        if not known:
            return 0.0
        pause = lags.JOB_BACK_OFF * 2.0 ** min(len(known) - 1, 60)
        return last + min(lags.LONGEST_JOB_BACK_OFF, pause) - self.now
