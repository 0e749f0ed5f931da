"""Answers for Succeeded and Failed. Pure."""

from datetime import datetime

from cli.explaining.answers.next_steps import retries_spent
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.forecast import StepKind
from cli.explaining.report import CommandHint, Next, Situation
from cli.pod_security import REMEDIES, refusal_in
from controller.facts.root_cause_status import decode
from controller.phases.actions import Reason
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause, line, place_of
from shared.api.names import (
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)


def succeeded(case: Case) -> SituationAnswer | None:
    """Apply in phase Succeeded."""
    if case.phase is not Phase.SUCCEEDED:
        return None
    at = case.changed(CONDITION_QUOTA_RESERVED)
    return SituationAnswer(
        situation=Situation.SUCCEEDED,
        sentence=f"{case.name} succeeded{_at(case, at)}.",
        next=_removal(case, "success TTL"),
        commands=_logs(case),
    )


def failed(case: Case) -> SituationAnswer | None:
    """Apply in phase Failed."""
    if case.phase is not Phase.FAILED:
        return None
    reported = case.reported(CONDITION_UNHEALTHY)
    at = case.changed(CONDITION_UNHEALTHY)
    kept = case.snapshot.timers.deletion_on_failure is not None
    cause, rest = _first_failure(case), reported.message
    if cause is not None:
        why, rest = f": {line(cause)}", _without(cause, reported.message)
    elif reported.message:
        why, rest = f": {reported.message}", ""
    else:
        why = f" ({reported.reason})" if reported.reason else ""
    holds = case.is_true(CONDITION_QUOTA_RESERVED)
    details = [_sentence(rest)] if rest else []
    details += [*_why_no_retry(case), *(REMEDIES if refusal_in(reported.message) else ())]
    if holds:
        details.append("It still holds its quota, until all of its pods are gone.")
    return SituationAnswer(
        situation=Situation.KEPT_AFTER_FAILURE if kept else Situation.FAILED,
        sentence=f"{case.name} failed{_at(case, at)}{why}.",
        details=tuple(details),
        next=_removal(case, "deletion-on-failure grace period"),
        commands=_help_after_failure(case),
    )


def _sentence(text: str) -> str:
    """Return the text as a sentence. A name such as retryLimit keeps its first letter."""
    is_word = text.partition(" ")[0].islower()
    return f"{text[0].upper() if is_word else text[0]}{text[1:]}."


def _first_failure(case: Case) -> RootCause | None:
    """Return the recorded root cause of the last attempt."""
    found = decode(case.appwrapper.status)
    return found.cause if found and found.attempt == case.appwrapper.attempt else None


def _without(cause: RootCause, message: str) -> str:
    """Return what the message of Unhealthy adds: why no retry follows, and counts."""
    only = f"1 failed pod: {place_of(cause)}"
    rest = message.replace(f"{line(cause)}; ", "").replace(line(cause), "")
    if only in rest:
        rest = rest[: rest.index(only)]
    return rest.strip(" ;:")


def _help_after_failure(case: Case) -> tuple[CommandHint, ...]:
    """Return the commands for what it wrote, and for another try with and without its pods."""
    logs = case.command("logs", "what its pods wrote, as far as it is kept")
    if case.raw_pods:
        return (logs,)
    again = case.command("resubmit", "run it again under a new name")
    kept = case.command(
        "resubmit",
        "the same, and keep its pods for half an hour after a failure",
        "--set deletionOnFailureGracePeriodDuration=30m",
    )
    return (logs, again, kept)


def _why_no_retry(case: Case) -> tuple[str, ...]:
    """Return what the message of Unhealthy lacks."""
    reason = case.reported(CONDITION_UNHEALTHY).reason
    if reason == Reason.MISSING_COMPONENT:
        return (
            "The controller never recreates a component that another client deleted: delete the"
            " AppWrapper and create it again.",
        )
    if reason == Reason.UNSCHEDULABLE:
        return (
            "Ask for less in each pod, or correct the node selector; then create it again. Every"
            " retry would wait in vain.",
        )
    if case.snapshot.retries >= case.config.retry_limit:
        # The report of its life has the number of spent retries.
        limit = case.config.retry_limit
        is_said = limit or "retryLimit is 0" in case.reported(CONDITION_UNHEALTHY).message
        return () if is_said else retries_spent(case)
    if reason == Reason.CREATE_FAILED:
        return ("The API server refuses it for good, so no retry can help.",)
    return ()


def _removal(case: Case, period: str) -> tuple[Next, ...]:
    deletes = next((each for each in case.steps if each.change is StepKind.DELETES), None)
    if deletes is not None and deletes.at > case.now:
        return (
            Next(f"The {period} ends, and its pods and other components are deleted.", deletes.at),
        )
    if case.is_true(CONDITION_RESOURCES_DEPLOYED):
        return (Next("Its pods and other components are being deleted."),)
    return (
        Next("Nothing: its components are gone. The AppWrapper itself stays until you delete it."),
    )


def _logs(case: Case) -> tuple[CommandHint, ...]:
    return (case.command("logs", "what its pods wrote"),) if case.raw_pods else ()


def _at(case: Case, at: datetime | None) -> str:
    return f" at {case.when(at)}" if at else ""
