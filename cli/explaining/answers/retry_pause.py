"""Answers for the pause between a finished reset and the next attempt. Pure."""

from datetime import datetime

from cli.explaining.answers.kueue_messages import queue_commands
from cli.explaining.answers.next_steps import retries_spent
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import Next, Situation
from controller.phases.phase import Phase
from controller.phases.reset_or_fail import next_attempt, pause_after
from controller.reports.reason import Reason
from shared.api.names import CONDITION_UNHEALTHY


def retry_pause(case: Case) -> SituationAnswer | None:
    """Apply in the pause between a finished reset and the next attempt."""
    began = case.snapshot.timers.retry_pause
    if case.phase is not Phase.RESETTING or began is None or case.appwrapper.deletion_requested:
        return None
    reported = case.reported(CONDITION_UNHEALTHY)
    if reported.reason == Reason.REASSIGNMENT:
        return _waits_for_other_nodes(case, reported.message)
    at = began + pause_after(reported.reason, case.config.retry_pause)
    return SituationAnswer(
        situation=Situation.RETRY_PAUSE,
        sentence=f"{case.name} was reset ({reported.reason}), and its next attempt begins at"
        f" {case.when(at)}.",
        details=(
            f"Attempt {case.appwrapper.attempt} ended:"
            f" {_why(case, reported.message, at) or reported.reason}.",
            *retries_spent(case),
            "It keeps its quota meanwhile.",
        ),
        next=(Next(f"Attempt {case.appwrapper.attempt + 1} begins.", at),),
    )


def _why(case: Case, message: str, begins: datetime) -> str:
    """Return the reason for the reset: its report also announces the next attempt."""
    announced = next_attempt(case.snapshot.retries, case.config, begins)
    return message.removesuffix(f"; {announced.text()}")


def _waits_for_other_nodes(case: Case, why: str) -> SituationAnswer:
    """Answer for a reset under a topology. Kueue usually assigns the nodes within a moment."""
    return SituationAnswer(
        situation=Situation.RETRY_PAUSE,
        sentence=f"{case.name} was reset, and waits for Kueue to assign other nodes.",
        details=(f"Its next attempt waits: {why}.", *retries_spent(case)),
        next=(Next("Kueue suspends it. It keeps its place in the queue."),),
        commands=queue_commands(case),
    )
