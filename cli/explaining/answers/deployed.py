"""Answers for a deployed AppWrapper. Pure."""

from typing import Final

from cli.explaining.answers.next_steps import describe, next_steps, retries_spent
from cli.explaining.answers.pods import all_troubles, pod_commands
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.forecast import StepKind
from cli.explaining.report import Next, Situation
from controller.phases.phase import Phase
from controller.phases.success_and_stragglers import has_ended_well, only_endless
from controller.reports.reason import Reason
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.waits.words import counted


def is_deployed(case: Case) -> bool:
    """True if the components exist or are being created."""
    deploying = case.phase in (Phase.RESUMING, Phase.RUNNING)
    return deploying and not case.appwrapper.deletion_requested


def namespace_ends(case: Case) -> SituationAnswer | None:
    """Apply if the namespace is being deleted: the API server creates nothing there."""
    if not case.snapshot.namespace_ending:
        return None
    return SituationAnswer(
        situation=Situation.NAMESPACE_ENDS,
        sentence=f"{case.name} ends with its namespace {case.namespace}, which is being deleted.",
    )


def cannot_create(case: Case) -> SituationAnswer | None:
    """Apply if the API server rejects a component."""
    reported = case.reported(CONDITION_RESOURCES_DEPLOYED)
    if case.phase is not Phase.RESUMING or reported.reason != Reason.CREATE_FAILED:
        return None
    return SituationAnswer(
        situation=Situation.CANNOT_CREATE,
        sentence=f"{case.name} waits because a component cannot be created: {reported.message}.",
        details=retries_spent(case),
        next=(Next("The controller tries again every few seconds."), *next_steps(case)),
        commands=(describe(case),),
    )


def creating(case: Case) -> SituationAnswer | None:
    """Apply in phase Resuming."""
    if case.phase is not Phase.RESUMING:
        return None
    return SituationAnswer(
        situation=Situation.CREATING,
        sentence=f"{case.name} has its quota, and its components are being created.",
        next=next_steps(case),
    )


# The situation, and the event that ends it.
_HELD: Final = {
    Reason.RESETS_PAUSED.value: (Situation.RESETS_PAUSED, "an admin ends the pause"),
    Reason.EVACUATION_HELD.value: (
        Situation.BREAKER_OPEN,
        "an admin confirms the evacuations, or the nodes' labels go",
    ),
    Reason.RESET_THROTTLED.value: (
        Situation.THROTTLED,
        "its turn comes, usually within seconds",
    ),
}


def reset_is_held(case: Case) -> SituationAnswer | None:
    """Apply if the AppWrapper's reset must wait for an admin or for the rate limit."""
    reported = case.reported(CONDITION_UNHEALTHY)
    if reported.reason not in _HELD or not case.is_true(CONDITION_UNHEALTHY):
        return None
    situation, end = _HELD[reported.reason]
    return SituationAnswer(
        situation=situation,
        sentence=f"{case.name} is unhealthy, and its reset must wait: {reported.message}.",
        details=retries_spent(case),
        next=(Next(f"Its reset begins when {end}, unless its pods heal before."),),
        commands=(describe(case),),
    )


def pods_run_after_end(case: Case) -> SituationAnswer | None:
    """Apply if the work is done. Pods that still run hold the quota."""
    if not (case.sees_all and has_ended_well(case.snapshot)):
        return None
    left = case.snapshot.pods.under_way
    still = f", and {counted(left, 'pod')} still {'runs' if left == 1 else 'run'}" if left else ""
    return SituationAnswer(
        situation=Situation.RUN_AFTER_END,
        sentence=f"{case.name} has done its work{still}: it succeeds when nothing runs any more.",
        next=next_steps(case),
    )


def unhealthy(case: Case) -> SituationAnswer | None:
    """Apply if the AppWrapper is unhealthy: a grace period may run."""
    reported = case.reported(CONDITION_UNHEALTHY)
    if not case.is_true(CONDITION_UNHEALTHY):
        return None
    since = case.changed(CONDITION_UNHEALTHY)
    be, at = ("has been", f" since {case.when(since)}") if since else ("is", "")
    step = next((each for each in case.steps if each.change is StepKind.PHASE), None)
    then = ""
    if step is not None and step.at > case.now:
        verb = "is reset" if step.phase == Phase.RESETTING else "fails"
        then = f" It {verb} at {case.when(step.at)}, unless it heals before."
    message = reported.message or reported.reason
    return SituationAnswer(
        situation=Situation.UNHEALTHY,
        sentence=f"{case.name} {be} unhealthy{at}: {message}.{then}",
        details=(*all_troubles(case), *retries_spent(case)),
        next=next_steps(case),
        commands=(*pod_commands(case), describe(case)),
    )


def runs(case: Case) -> SituationAnswer:
    """Answer if no problem is known."""
    pods = case.snapshot.pods
    if not case.sees_all:
        return SituationAnswer(
            situation=Situation.RUNNING,
            sentence=f"{case.name} runs according to its status. Not all of its pods and components"
            " can be read, so their state is not known here.",
            commands=(describe(case),),
        )
    since = case.changed(CONDITION_PODS_READY)
    ready = case.is_true(CONDITION_PODS_READY)
    runs_since = f"has run since {case.when(since)}" if ready and since else "runs"
    deferred = f" ({pods.deferred} more are made later)" if pods.deferred else ""
    ended = f", {pods.succeeded} ended well" if pods.succeeded else ""
    endless = only_endless(case.snapshot)
    return SituationAnswer(
        situation=Situation.RUNNING,
        sentence=f"{case.name} {runs_since}: {counted(pods.running, 'pod')} of {pods.expected}"
        f" {'runs' if pods.running == 1 else 'run'}{ended}{deferred}.",
        details=(f"{endless[0].upper()}{endless[1:]}.",) if endless else (),
        next=next_steps(case) or (Next("It runs until its components end."),),
        commands=(case.command("cancel", "delete it with its pods"),) if endless else (),
    )
