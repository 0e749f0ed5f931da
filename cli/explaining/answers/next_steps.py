"""Describe the controller's next steps in sentences. Pure."""

from cli.durations import span
from cli.explaining.case import Case
from cli.explaining.forecast import Step, StepKind
from cli.explaining.report import CommandHint, Next
from controller.phases.phase import Phase
from controller.phases.reset_or_fail import pause_after
from controller.reports.reason import Reason
from shared.waits.words import counted


def next_steps(case: Case) -> tuple[Next, ...]:
    """Return the forecast steps as sentences."""
    return tuple(_described(each, case) for each in case.steps)


def _described(step: Step, case: Case) -> Next:
    at = step.at
    match step.change:
        case StepKind.UNHEALTHY:
            return Next(f"It turns Unhealthy ({step.reason}): {step.message}.", at)
        case StepKind.PHASE if step.phase == Phase.RESETTING:
            number = case.snapshot.retries + 1
            spent = (
                f"retry {number} of {case.config.retry_limit}"
                if step.spends_retry
                else "this spends no retry"
            )
            pause = pause_after(step.reason, case.config.retry_pause)
            after = f"{span(pause)} after that" if pause else "right after that"
            return Next(
                f"It is reset ({spent}): all of it is deleted, and {after} the next"
                " attempt begins, with the same quota.",
                at,
            )
        case StepKind.PHASE if step.phase == Phase.FAILED:
            no_retry_helps = step.reason == Reason.UNSCHEDULABLE
            why = f"{step.message}." if no_retry_helps else retries_spent(case)[0]
            return Next(f"It fails for good: {why}", at)
        case StepKind.PHASE if step.phase == Phase.RESUMING:
            return Next(f"Attempt {case.appwrapper.attempt + 1} begins.", at)
        case StepKind.PHASE:
            return Next(f"Its phase becomes {step.phase}.", at)
        case StepKind.FORCES:
            return Next("The remaining pods and components are deleted without grace period.", at)
        case StepKind.FORCES_CUT_OFF:
            return Next("The pods on unreachable nodes are deleted without confirmation.", at)
        case StepKind.DELETES:
            return Next("Its pods and other components are deleted.", at)
        case StepKind.REMOVES_THE_REST:
            return Next("The pods that still run are deleted.", at)


def retries_spent(case: Case) -> tuple[str, ...]:
    """Return a sentence about the spent retries."""
    spent, limit = case.snapshot.retries, case.config.retry_limit
    if not limit:
        return ("It may not be retried (retryLimit 0).",)
    return (f"{spent} of {counted(limit, 'retry')} {'is' if spent == 1 else 'are'} spent.",)


def describe(case: Case) -> CommandHint:
    """Return the command that shows conditions and events of the AppWrapper."""
    return case.kubectl(f"describe appwrapper {case.name}", "its conditions and events")
