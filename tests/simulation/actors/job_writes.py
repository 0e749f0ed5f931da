"""The pods and statuses that the Job controller writes. Pure."""

from collections.abc import Callable, Sequence

from shared.api.conditions import condition, conditions_of
from shared.api.objects import JsonObject
from shared.kinds.job import COMPLETION_INDEX
from tests.simulation.actors.job_counts import (
    TRACKING,
    Figures,
    JobCounts,
    Verdict,
    format_indices,
    is_tracked,
    uid_of,
)
from tests.simulation.actors.objects import set_condition
from tests.simulation.api.rules import copied
from tests.simulation.loop import stamp

Change = Callable[[JsonObject], None]


def pod_of(job: JsonObject, index: int | None) -> JsonObject:
    """Return a pod to create for the Job; `index` is the completion index of an Indexed Job."""
    about, template = job["metadata"], job["spec"]["template"]
    given = template.get("metadata") or {}
    own = {
        "batch.kubernetes.io/controller-uid": about["uid"],
        "batch.kubernetes.io/job-name": about["name"],
        "controller-uid": about["uid"],
        "job-name": about["name"],
    }
    numbered = {} if index is None else {COMPLETION_INDEX: str(index)}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": about["name"], "uid": about["uid"]}
    return {
        "metadata": {
            "generateName": f"{about['name']}-" if index is None else f"{about['name']}-{index}-",
            "labels": {**(given.get("labels") or {}), **own, **numbered},
            "annotations": {**(given.get("annotations") or {}), **numbered},
            "finalizers": [*(given.get("finalizers") or ()), TRACKING],
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": copied(template["spec"]),
    }


def tracked(counts: JobCounts, figures: Figures, verdict: Verdict | None, now: float) -> Change:
    """Return the change that lists the pods to count, and the verdict if there is one.

    Once a Job has failed, each pod that it still tracks counts as failed.
    """
    succeeded, failed = counts.new("succeeded"), counts.new("failed")
    if verdict is not None and not verdict.succeeded:
        known = {*counts.known, *map(uid_of, succeeded)}
        failed = [each for each in counts.pods if is_tracked(each) and uid_of(each) not in known]

    def change(item: JsonObject) -> None:
        status = item.setdefault("status", {})
        uncounted = status.setdefault("uncountedTerminatedPods", {})
        if counts.indexed:
            status["completedIndexes"] = format_indices(counts.succeeded_indices)
            status["succeeded"] = counts.succeeded
        else:
            _extend(uncounted, "succeeded", succeeded)
        _extend(uncounted, "failed", failed)
        _write_pods(status, figures)
        _write_start(item, counts, now)
        if verdict is not None:
            set_condition(item, verdict.interim, "True", verdict.reason, now, verdict.message)

    return change


def counted(counts: JobCounts, figures: Figures, now: float) -> Change:
    """Return the change that counts the pods without a finalizer; it ends the Job if none is left.

    A Job with a verdict also waits for its pods that are being deleted.
    """
    waiting = {uid_of(each) for each in counts.pods if is_tracked(each)}
    left = {
        kind: [uid for uid in uids if uid in waiting] for kind, uids in counts.uncounted.items()
    }
    verdict = counts.known_verdict()

    def change(item: JsonObject) -> None:
        status = item.setdefault("status", {})
        for kind, uids in counts.uncounted.items():
            if done := len(uids) - len(left[kind]):
                status[kind] = status.get(kind, 0) + done
        status["uncountedTerminatedPods"] = {kind: uids for kind, uids in left.items() if uids}
        _write_pods(status, figures)
        if verdict is None or any(left.values()) or figures.terminating:
            return
        set_condition(item, verdict.final, "True", verdict.reason, now, verdict.message)
        if verdict.succeeded:
            status["completionTime"] = stamp(now)

    return change


def is_due(job: JsonObject, counts: JobCounts, verdict: Verdict | None, now: float) -> bool:
    """True if a sync would change the Job's status or a pod's finalizer."""
    new, figures = copied(job), counts.figures()
    tracked(counts, figures, verdict, now)(new)
    counted(counts, figures, now)(new)
    over = counts.deleting or counts.known_verdict() is not None
    held = any(is_tracked(each) and (over or counts.is_counted(each)) for each in counts.pods)
    return held or new != job


def _extend(uncounted: JsonObject, kind: str, pods: Sequence[JsonObject]) -> None:
    if pods:
        uncounted[kind] = [*(uncounted.get(kind) or ()), *map(uid_of, pods)]


def _write_pods(status: JsonObject, figures: Figures) -> None:
    status["active"] = figures.active
    status["ready"] = figures.ready
    status["terminating"] = figures.terminating


def _write_start(item: JsonObject, counts: JobCounts, now: float) -> None:
    """Write when the Job began, or that it is suspended."""
    held = condition(conditions_of(item["status"]), "Suspended")
    if counts.suspended:
        set_condition(item, "Suspended", "True", "JobSuspended", now, "Job suspended")
        item["status"].pop("startTime", None)
    elif held is not None and held["status"] == "True":
        set_condition(item, "Suspended", "False", "JobResumed", now, "Job resumed")
        item["status"]["startTime"] = stamp(now)
    else:
        item["status"].setdefault("startTime", stamp(now))
