"""Answers for pods that do not run. Pure."""

from typing import Final

from cli.cluster.unread import objects
from cli.durations import span
from cli.explaining.answers.next_steps import describe, next_steps
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.history import event_time
from cli.explaining.report import CommandHint, Next, Situation
from cli.pod_security import REMEDIES, refusal_in
from controller.facts.unreachable import removed_nodes_in
from controller.phases.readiness import runs_as_wanted
from shared.waits.pods import PodTrouble, PodWait, pod_troubles
from shared.waits.words import counted, few

# Lasting problems come before temporary ones.
_SITUATIONS: Final = {
    PodWait.IMAGE: Situation.NO_IMAGE,
    PodWait.CONFIGURATION: Situation.NOT_CONFIGURED,
    PodWait.CRASHES: Situation.CRASHING,
    PodWait.SCHEDULER: Situation.UNSCHEDULABLE,
    PodWait.GATED: Situation.GATED,
    PodWait.INIT: Situation.PODS_STARTING,
    PodWait.START: Situation.PODS_STARTING,
}


def nodes_are_unreachable(case: Case) -> SituationAnswer | None:
    """Apply if pods are on nodes that do not answer: they may still run there, unseen."""
    found = case.snapshot.unreachable
    if found is None or runs_as_wanted(case.snapshot):
        return None
    stays = ("It stays there, because unreachableGracePeriodDuration is 0s.",)
    moves = ("If the node answers before the reset, the pods continue.",)
    gone = ("Kubernetes deletes the pods of a removed node after about a minute.",)
    waits = moves if case.config.unreachable_grace else stays
    return SituationAnswer(
        situation=Situation.NODE_UNREACHABLE,
        sentence=f"{case.name} waits for a node: {found.message}.",
        details=(
            *(gone if removed_nodes_in(found.message) else waits),
            "Until the node answers, nothing can stop its processes: they may still write to"
            " shared storage.",
        ),
        next=next_steps(case),
    )


def pods_wait(case: Case) -> SituationAnswer | None:
    """Apply if existing pods do not run. The gravest reason is the answer, others are details."""
    troubles = pod_troubles(case.raw_pods)
    crashing = [pod.name for pod in case.pods if pod.crash_loop is not None]
    if not troubles and not (crashing and not runs_as_wanted(case.snapshot)):
        return None
    if not troubles:
        names = few(crashing)
        return SituationAnswer(
            situation=Situation.CRASHING,
            sentence=f"{case.name} runs, but {counted(len(crashing), 'pod')} crashed again and"
            f" again until just now: {names}.",
            details=(
                "A pod counts as running again once its container has run for"
                f" {span(case.config.stability_period)}.",
            ),
            next=next_steps(case),
            commands=pod_commands(case),
        )
    worst = min(troubles, key=lambda each: [*_SITUATIONS].index(each.waits_for))
    why = case.queue.too_large_for_nodes if worst.waits_for is PodWait.SCHEDULER else ""
    too_large = (f"No node that the cluster has now can run it: {why}.",) if why else ()
    return SituationAnswer(
        situation=_SITUATIONS[worst.waits_for],
        sentence=f"{case.name} has its quota, and {_described(worst)}.",
        details=(
            *(_sentence(each) for each in troubles if each is not worst),
            *too_large,
        ),
        next=next_steps(case) or _first_crash(worst),
        commands=_shows_more(case, worst),
    )


def _first_crash(trouble: PodTrouble) -> tuple[Next, ...]:
    """Return the next step after a first crash, which the controller still ignores."""
    if trouble.waits_for is not PodWait.CRASHES:
        return ()
    return (
        Next(
            "The kubelet restarts the container. If it soon crashes again, the grace periods begin."
        ),
    )


def _shows_more(case: Case, trouble: PodTrouble) -> tuple[CommandHint, ...]:
    name = trouble.pods[0]
    if trouble.waits_for is PodWait.CRASHES:
        return (case.kubectl(f"logs {name} --previous", "what it wrote before it crashed"),)
    return (case.kubectl(f"describe pod {name}", "the pod's own events"),)


def refused_by_pod_security(case: Case) -> SituationAnswer | None:
    """Apply if pods are missing because the namespace's level forbids them."""
    if not _are_missing(case):
        return None
    refusals = (
        refusal_in(each.get("message") or "") for each in objects(case.seen.component_events)
    )
    refusal = next(filter(None, refusals), "")
    if not refusal:
        return None
    return SituationAnswer(
        situation=Situation.PODS_MISSING,
        sentence=f"{case.name} has its quota, but Pod Security in namespace {case.namespace}"
        f" refuses its pods: {refusal}.",
        details=REMEDIES,
        next=next_steps(case),
        commands=(
            CommandHint(
                f"kubectl get namespace {case.namespace} --show-labels",
                "the level of the namespace",
            ),
            describe(case),
        ),
    )


def _are_missing(case: Case) -> bool:
    pods = case.snapshot.pods
    return case.sees_all and pods.existing < pods.wanted


def pods_are_missing(case: Case) -> SituationAnswer | None:
    """Apply if the components have created too few pods."""
    if not _are_missing(case):
        return None
    pods = case.snapshot.pods
    messages = [
        f"{each.kind} {each.name} reports: {each.message}"
        for each in case.snapshot.components
        if each.message
    ]
    return SituationAnswer(
        situation=Situation.PODS_MISSING,
        sentence=f"{case.name} has its quota, and {pods.existing} of {counted(pods.wanted, 'pod')}"
        " exist: its components have not made the others.",
        details=(*messages, *_event_texts(case)),
        next=next_steps(case),
        commands=(describe(case),),
    )


def _event_texts(case: Case) -> tuple[str, ...]:
    """Return the last warnings about the components: a Job reports a ResourceQuota only there."""
    events = objects(case.seen.component_events)
    warnings = [each for each in events if each.get("type") == "Warning"]
    warnings.sort(key=event_time)
    # Such messages differ only in the names of pods that were never created: use the last one.
    last = {
        (
            f"{each['involvedObject'].get('kind')} {each['involvedObject'].get('name')}"
            f" ({each.get('reason')})"
        ): each.get("message")
        for each in warnings
    }
    return tuple(f"{what}: {message}" for what, message in [*last.items()][-2:])


def all_troubles(case: Case) -> tuple[str, ...]:
    """Return a sentence for each reason why pods do not run."""
    return tuple(_sentence(each) for each in pod_troubles(case.raw_pods))


def _sentence(trouble: PodTrouble) -> str:
    text = _described(trouble)
    return text[0].upper() + text[1:] + "."


def _described(trouble: PodTrouble) -> str:
    number = len(trouble.pods)
    pods = f"pod {trouble.pods[0]}" if number == 1 else f"{number} pods ({few(trouble.pods)})"
    verb = "waits" if number == 1 else "wait"
    if trouble.waits_for is PodWait.SCHEDULER:
        message = f". The scheduler reports: {trouble.message}" if trouble.message else ""
        return f"{pods} {verb} for a node{message}".rstrip(".")
    if trouble.waits_for is PodWait.GATED:
        gate = "its scheduling gate" if number == 1 else "their scheduling gate"
        return f"{pods} {verb} for {gate}: {trouble.message}"
    if trouble.waits_for is PodWait.CRASHES:
        crash = "crashes" if number == 1 else "crash"
        return f"{pods} {crash} again and again: {trouble.message}"
    if trouble.waits_for is PodWait.IMAGE:
        return f"{pods} cannot start: {trouble.message} cannot be pulled ({trouble.reason})"
    if trouble.waits_for is PodWait.CONFIGURATION:
        return f"{pods} cannot start ({trouble.reason}): {trouble.message}"
    message = f": {trouble.message}" if trouble.message else ""
    return f"{pods} {verb} for {trouble.waits_for}{message}"


def pod_commands(case: Case) -> tuple[CommandHint, ...]:
    """Return a command about a pod that failed or crashed."""
    failed = [pod.name for pod in case.pods if pod.phase == "Failed"]
    crashed = [pod.name for pod in case.pods if pod.crash_loop is not None]
    if failed:
        return (case.command("logs", "what the failed pod wrote", f"--pod {failed[0]}"),)
    if crashed:
        return (case.kubectl(f"logs {crashed[0]} --previous", "what it wrote before it crashed"),)
    return ()
