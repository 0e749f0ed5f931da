"""Answers for Resetting, Suspending and Terminating: what blocks the deletion. Pure."""

from collections.abc import Sequence
from typing import Final

from cli.cluster.unread import objects
from cli.explaining.answers.next_steps import next_steps
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import CommandHint, Next, Situation
from controller.phases.phase import Phase
from controller.phases.snapshot import Presence
from controller.reports.deleting_resources import (
    LeftComponent,
    LeftPod,
    blockers,
    finalizers_of,
    project_left_pod,
    suspended_jobs,
)
from controller.reports.reason import Reason
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_UNHEALTHY, FINALIZER
from shared.waits.words import few

_AFTER: Final = {
    Phase.RESETTING: "then comes a pause, and the next attempt",
    Phase.SUSPENDING: "then its quota is released, and it waits in its queue again",
    Phase.TERMINATING: "then the AppWrapper itself is removed",
}


def deleting(case: Case) -> SituationAnswer | None:
    """Apply during a deletion. Name the objects that block it."""
    if not (case.phase in _AFTER or _is_being_deleted(case)):
        return None
    reported = case.reported(CONDITION_DELETING_RESOURCES)
    components, pods = _left(case)
    in_the_way = blockers(components, pods, {}, len(pods))
    is_held, whose_finalizers = _held(components, pods)
    doing, then = _doing(case)
    if reported.reason == Reason.DELETION_BLOCKED or is_held:
        blocked_by = "; ".join(in_the_way)
        if reported.reason == Reason.DELETION_BLOCKED:
            blocked_by = reported.message
        return SituationAnswer(
            situation=Situation.DELETION_BLOCKED,
            sentence=f"{case.name} {doing}, and its deletion is blocked: {blocked_by}.",
            details=(
                *(each for each in in_the_way if each not in blocked_by),
                *whose_finalizers,
                *_why_suspended(blocked_by),
                _when_gone(case, then),
            ),
            next=_to_come(case, blocked_by)
            or (Next("Nothing happens until the cause is removed."),),
            commands=(
                *_without_cleanup(case, blocked_by),
                case.kubectl(f"describe appwrapper {case.name}", "what blocks the deletion"),
            ),
        )
    if _is_being_deleted(case) and not case.appwrapper.has_our_finalizer:
        others = [each for each in case.appwrapper.finalizers if each != FINALIZER]
        return SituationAnswer(
            situation=Situation.DELETION_BLOCKED,
            sentence=f"{case.name} is being deleted, and finalizers of other programs keep it:"
            f" {', '.join(others)}.",
            next=(Next("It is removed when those programs have removed their finalizers."),),
        )
    return SituationAnswer(
        situation=Situation.DELETING,
        sentence=f"{case.name} {doing}: its pods and other components are being deleted; {then}.",
        details=in_the_way,
        next=next_steps(case),
    )


def _to_come(case: Case, blocked_by: str) -> tuple[Next, ...]:
    """Return the forced deletions, unless a suspended Job must end first.

    Steps in the past were forced deletions. Their repetition changes nothing.
    """
    if suspended_jobs(blocked_by):
        return ()
    return tuple(each for each in next_steps(case) if each.at and each.at > case.now)


def _when_gone(case: Case, then: str) -> str:
    """Describe the end of the deletion.

    If the user deletes the AppWrapper, Kueue since 0.18 may release the quota at once.
    """
    if _is_being_deleted(case):
        return f"When all of it is gone, {then.removeprefix('then ')}."
    return f"Its quota is held until all of it is gone; {then}."


def _is_being_deleted(case: Case) -> bool:
    return case.appwrapper.deletion_requested


def _doing(case: Case) -> tuple[str, str]:
    if _is_being_deleted(case):
        return "is being deleted", _AFTER[Phase.TERMINATING]
    reported = case.reported(CONDITION_UNHEALTHY)
    if case.phase is Phase.RESETTING:
        return f"is being reset ({reported.reason})", _AFTER[Phase.RESETTING]
    return "was suspended", _AFTER[Phase.SUSPENDING]


def _held(
    components: Sequence[LeftComponent], pods: Sequence[LeftPod]
) -> tuple[bool, tuple[str, ...]]:
    """True if another program's finalizer keeps what is being deleted; and a sentence about it."""
    held = any(each.finalizers and each.deleting for each in components)
    finalizers = [each.finalizers for each in components] + [each.finalizers for each in pods]
    names = {name for each in finalizers for name in each}
    advice = (
        f"The controller never removes another program's finalizer: the program that set"
        f" {few(names)} must do so, or an admin."
    )
    return held or any(each.due and each.finalizers for each in pods), (advice,) if names else ()


# KubeRay's own finalizer: its Job must first delete the RayCluster's data in Redis.
_REDIS_CLEANUP: Final = "ray.io/gcs-ft-redis-cleanup-finalizer"


def _why_suspended(blocked_by: str) -> tuple[str, ...]:
    names = suspended_jobs(blocked_by)
    if not names:
        return ()
    return (
        "Kueue suspends the Jobs of an AppWrapper that is being deleted, so Job"
        f" {few(names)} cannot end. No forced deletion ends this wait. KubeRay 1.6.2 and later"
        " remove their finalizer 5 minutes after the deletion; the data in Redis remain then.",
    )


def _without_cleanup(case: Case, blocked_by: str) -> tuple[CommandHint, ...]:
    """Return KubeRay's documented command for each RayCluster that waits for a suspended Job."""
    if not suspended_jobs(blocked_by):
        return ()
    components, _ = _left(case)
    return tuple(
        case.kubectl(
            f"patch raycluster {each.name} --type=json"
            """ --patch='[{"op": "remove", "path": "/metadata/finalizers"}]'""",
            "remove KubeRay's finalizer, if you may; then delete the data in Redis yourself",
        )
        for each in components
        if _REDIS_CLEANUP in each.finalizers
    )


def _left(case: Case) -> tuple[list[LeftComponent], list[LeftPod]]:
    pods = [project_left_pod(each, "", case.now) for each in objects(case.seen.pods)]
    components = []
    for index, component in enumerate(case.snapshot.components):
        seen = case.seen.components
        item = seen[index] if index < len(seen) else None
        if component.presence not in (Presence.PRESENT, Presence.DELETING):
            continue
        metadata = item["metadata"] if isinstance(item, dict) else {}
        components.append(
            LeftComponent(
                name=component.name,
                kind=component.kind,
                deleting=component.presence is Presence.DELETING,
                finalizers=finalizers_of(metadata),
                pods_left=bool(pods),
            )
        )
    return components, pods
