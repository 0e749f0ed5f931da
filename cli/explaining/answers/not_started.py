"""Answers for an AppWrapper that the controller has not seen, or ignores. Pure."""

from datetime import timedelta
from typing import Final

from cli.durations import span
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import CommandHint, Next, Situation
from controller.phases.phase import Phase

# A running controller sets the first phase within a second.
_CONTROLLER_PATIENCE: Final = timedelta(seconds=20)


def managed_by_another(case: Case) -> SituationAnswer | None:
    """Apply if spec.managedBy names another controller: the AppWrapper controller ignores it."""
    if case.appwrapper.is_ours:
        return None
    manager = case.appwrapper.spec.get("managedBy")
    return SituationAnswer(
        situation=Situation.NOT_OURS,
        sentence=f"{case.name} is managed by {manager} (spec.managedBy), so the AppWrapper"
        " controller of this cluster ignores it.",
    )


def not_seen_yet(case: Case) -> SituationAnswer | None:
    """Apply to an AppWrapper without a phase."""
    if case.phase is not Phase.EMPTY or case.appwrapper.deletion_requested:
        return None
    created = case.created
    age = case.now - created
    if age < _CONTROLLER_PATIENCE:
        return SituationAnswer(
            situation=Situation.NOT_SEEN,
            sentence=f"{case.name} was created {span(age)} ago, and the AppWrapper controller"
            " is about to see it.",
        )
    return SituationAnswer(
        situation=Situation.NOT_SEEN,
        sentence=f"{case.name} was created {span(age)} ago, and no AppWrapper controller has"
        " seen it: the controller does not run, or cannot write.",
        next=(Next("Nothing happens until the controller runs: ask an admin of the cluster."),),
        commands=(
            CommandHint(
                "kubectl get deployment appwrapper-controller -n appwrapper-system",
                "whether the controller runs (for admins)",
            ),
        ),
    )
