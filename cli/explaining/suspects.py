"""Report the suspect nodes of an AppWrapper, and their effect on its next pods. Pure."""

from typing import Final

from cli.explaining.case import Case
from cli.explaining.report import SuspectNodeLine, SuspectNodes
from controller.facts.assigned_nodes import topology_workload
from controller.facts.suspects import suspects_of
from controller.phases.phase import Phase

_ENDED: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.TERMINATING})
_EFFECT: Final = "Its next pods run on other nodes where possible"
_REPORTED: Final = (
    "Kueue chooses the nodes of its pods (topology), so these nodes are listed, not avoided."
)
_OVER: Final = "No further attempt follows."


def suspect_nodes(case: Case) -> SuspectNodes | None:
    """Return None if there are no suspect nodes or suspectNodes is Off."""
    settings = case.seen.world.settings
    mode = settings.behaviour.suspect_nodes
    appwrapper = case.appwrapper
    found = suspects_of(appwrapper.status, case.now)
    if not found or mode == "Off":
        return None
    assumed = f", the assumed default: {settings.problem}" if settings.problem else ""
    effect = f"{_EFFECT} (suspectNodes: {mode}{assumed})."
    if case.phase in _ENDED:
        effect = _OVER
    elif any(map(topology_workload, appwrapper.components)):
        effect = _REPORTED
    return SuspectNodes(
        setting=mode,
        effect=effect,
        nodes=tuple(
            SuspectNodeLine(node=each.node, pod=each.pod, attempt=each.attempt, until=each.until)
            for each in found
        ),
    )
