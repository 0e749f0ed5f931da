"""Answers for Resetting, Suspending and Terminating: what blocks the deletion. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from cli.cluster.unread import objects
from cli.explaining.answers.next_steps import next_steps
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import CommandHint, Next, Situation
from cli.holds import held_text, release_command
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
    if not (case.phase in _AFTER or case.appwrapper.deletion_requested):
        return None
    reported = case.reported(CONDITION_DELETING_RESOURCES)
    is_blocked = reported.reason == Reason.DELETION_BLOCKED
    components, pods = _left(case)
    in_the_way = blockers(components, pods, {}, len(pods))
    doing, then = _doing(case)
    if is_blocked or _is_held(components, pods):
        blocked_by = reported.message if is_blocked else "; ".join(in_the_way)
        suspended = suspended_jobs(blocked_by)
        # Steps in the past were forced deletions. Their repetition changes nothing.
        to_come = [each for each in next_steps(case) if each.at and each.at > case.now]
        if suspended or not to_come:
            to_come = [Next("Nothing happens until the cause is removed.")]
        return SituationAnswer(
            situation=Situation.DELETION_BLOCKED,
            sentence=f"{case.name} {doing}, and its deletion is blocked: {blocked_by}.",
            details=(
                *(each for each in in_the_way if each not in blocked_by),
                *_whose_finalizers(components, pods),
                *_why_suspended(suspended),
                _when_gone(case, then),
            ),
            next=tuple(to_come),
            commands=(
                *(_without_cleanup(case, components) if suspended else ()),
                case.kubectl(f"describe appwrapper {case.name}", "what blocks the deletion"),
            ),
        )
    if case.appwrapper.deletion_requested and not case.appwrapper.has_our_finalizer:
        others = [each for each in case.appwrapper.finalizers if each != FINALIZER]
        return SituationAnswer(
            situation=Situation.DELETION_BLOCKED,
            sentence=f"{case.name} is being deleted, and finalizers of other programs keep it:"
            f" {', '.join(others)}.",
            next=(Next("It is removed when those programs have removed their finalizers."),),
        )
    work = "its pods and other components are being deleted"
    if case.snapshot.never_deployed and not components and not pods:
        work = "it never started, so it has no pods"
    return SituationAnswer(
        situation=Situation.DELETING,
        sentence=f"{case.name} {doing}: {work}; {then}.",
        details=in_the_way,
        next=next_steps(case),
    )


def _when_gone(case: Case, then: str) -> str:
    """Describe the end of the deletion.

    If the user deletes the AppWrapper, Kueue since 0.18 may release the quota at once.
    """
    if case.appwrapper.deletion_requested:
        return f"When all of it is gone, {then.removeprefix('then ')}."
    return f"Its quota is held until all of it is gone; {then}."


def _doing(case: Case) -> tuple[str, str]:
    if case.appwrapper.deletion_requested:
        return "is being deleted", _AFTER[Phase.TERMINATING]
    reported = case.reported(CONDITION_UNHEALTHY)
    if case.phase is Phase.RESETTING:
        return f"is being reset ({reported.reason})", _AFTER[Phase.RESETTING]
    if case.appwrapper.held:
        release = release_command(case.appwrapper)
        return f"is {held_text(case.appwrapper)}", f"then its quota is released, until: {release}"
    return "was suspended", _AFTER[Phase.SUSPENDING]


def _is_held(components: Sequence[LeftComponent], pods: Sequence[LeftPod]) -> bool:
    """True if another program's finalizer keeps what is being deleted."""
    return any(each.finalizers and each.deleting for each in components) or any(
        each.finalizers and each.due for each in pods
    )


def _whose_finalizers(
    components: Sequence[LeftComponent], pods: Sequence[LeftPod]
) -> tuple[str, ...]:
    finalizers = [each.finalizers for each in components] + [each.finalizers for each in pods]
    names = {name for each in finalizers for name in each}
    if not names:
        return ()
    return (
        f"The controller never removes another program's finalizer: the program that set"
        f" {few(names)} must do so, or an admin.",
    )


# KubeRay's own finalizer: its Job must first delete the RayCluster's data in Redis.
_REDIS_CLEANUP: Final = "ray.io/gcs-ft-redis-cleanup-finalizer"


def _why_suspended(jobs: Sequence[str]) -> tuple[str, ...]:
    if not jobs:
        return ()
    return (
        "Kueue suspends the Jobs of an AppWrapper that is being deleted, so Job"
        f" {few(jobs)} cannot end. No forced deletion ends this wait. KubeRay 1.6.2 and later"
        " remove their finalizer 5 minutes after the deletion; the data in Redis remain then.",
    )


def _without_cleanup(case: Case, components: Sequence[LeftComponent]) -> Iterator[CommandHint]:
    """Yield KubeRay's documented command for each RayCluster that waits for a suspended Job."""
    for each in components:
        if _REDIS_CLEANUP in each.finalizers:
            yield case.kubectl(
                f"patch raycluster {each.name} --type=json"
                """ --patch='[{"op": "remove", "path": "/metadata/finalizers"}]'""",
                "remove KubeRay's finalizer, if you may; then delete the data in Redis yourself",
            )


def _left(case: Case) -> tuple[list[LeftComponent], list[LeftPod]]:
    pods = [project_left_pod(each, "", case.now) for each in objects(case.seen.pods)]
    # Components that a spoiled status does not name were not read.
    items = (*case.seen.components, *[None] * len(case.snapshot.components))
    components = [
        LeftComponent(
            name=component.name,
            kind=component.kind,
            deleting=component.presence is Presence.DELETING,
            finalizers=finalizers_of(item["metadata"] if isinstance(item, dict) else {}),
            pods_left=bool(pods),
        )
        for component, item in zip(case.snapshot.components, items, strict=False)
        if component.presence in (Presence.PRESENT, Presence.DELETING)
    ]
    return components, pods
