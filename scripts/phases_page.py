"""Writes docs/users/phases.md: drawn from the table of edges and the answers of `decide`."""

from collections.abc import Iterable, Iterator
from typing import Final

from controller.phases.decide import PHASES, ROWS
from controller.phases.findings import CHECKS
from controller.phases.phase import EDGES, Phase
from controller.phases.rows import Row
from controller.phases.running import pods_in_trouble
from controller.reports.reason import Reason
from scripts.phase_reach import Reach, explore
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)

# A phase's name in diagrams.
_SHORT: Final = {
    Phase.EMPTY: "[*]",
    Phase.SUSPENDED: "sp",
    Phase.RESUMING: "rs",
    Phase.RUNNING: "rn",
    Phase.RESETTING: "rt",
    Phase.SUSPENDING: "su",
    Phase.SUCCEEDED: "s",
    Phase.FAILED: "f",
}
_LABELS: Final = {
    (Phase.RUNNING, Phase.FAILED): "Retries Exceeded",
    (Phase.RUNNING, Phase.RESETTING): "Workload Unhealthy",
    (Phase.RESUMING, Phase.FAILED): "Cannot Be Created",
    (Phase.RESUMING, Phase.RESETTING): "Not Created In Time",
    (Phase.RESETTING, Phase.RESUMING): "All Resources Removed",
    (Phase.RESUMING, Phase.RUNNING): "All Resources Recreated",
}
_MEANINGS: Final = {
    Phase.EMPTY: "created; no controller has seen it yet",
    Phase.SUSPENDED: "queued: none of its components exists",
    Phase.RESUMING: "Kueue granted its quota; its components are being created",
    Phase.RUNNING: "all components exist; the controller watches them and their pods",
    Phase.RESETTING: "unhealthy: its components are deleted, then retried with the same quota",
    Phase.SUSPENDING: "preempted or suspended: its components are deleted, then it is queued again",
    Phase.SUCCEEDED: "it succeeded: its quota is released, its components stay for a time",
    Phase.FAILED: "it failed: its quota is released when its components are deleted",
    Phase.TERMINATING: "it is being deleted: its finalizer is removed when its components are gone",
}
_CONDITIONS: Final = (
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_PODS_READY,
    CONDITION_UNHEALTHY,
    CONDITION_DELETING_RESOURCES,
)

# The phases between Kueue's admission and the end, which can be suspended.
ADMITTED: Final = [phase for phase in Phase if Phase.SUSPENDING in EDGES[phase]]

_HEAD: Final = """\
# Phases of an AppWrapper

For researchers and admins who look up a phase, a condition or a reason.

[conditions-and-events.md](../admins/conditions-and-events.md) lists each condition with its
reasons, and what an admin does about it. `make generate` writes this page from `controller/phases`.

Every phase also leads to Terminating, when the AppWrapper is deleted."""
_LIFE: Final = """\
Kueue, or a user who suspends, moves the AppWrapper along the outer loop: Suspended, admitted,
Suspending. The controller moves it along the inner loop: it retries without releasing the quota. A
reset itself never fails."""
_RETRIES: Final = """\
In blue phases the AppWrapper holds its quota. In Failed it holds the quota until its components are
deleted. In Succeeded it holds none."""
_TABLE: Final = """\
A condition is True (yes), False or absent (no), or can be either in the phase (·)."""
_WITH_GRACE: Final = "Unhealthy; after FailureGracePeriod reset or fail."
_ROWS: Final = """\
In each phase the first row that applies decides. "Reset or fail" means a reset while retries are
left and no exit code forbids one. A reset may have to wait; the reason of Unhealthy shows for
what."""


def phases_page() -> str:
    """Return the whole page."""
    reach = explore()
    parts = [
        _HEAD,
        "## The life of an AppWrapper",
        _diagram(_life()),
        _LIFE,
        "## Retries",
        _diagram(_retries(reach)),
        _RETRIES,
        "## Which conditions are True",
        _TABLE,
        _phase_table(reach),
        "## What the controller does in each phase",
        _ROWS,
        *_deeds(),
        "## Reasons",
        _reason_table(),
    ]
    return "\n\n".join(parts) + "\n"


def _life() -> list[str]:
    """Draw all phases but Terminating. An edge that all admitted phases have is drawn once."""
    drawn = [phase for phase in _SHORT if phase is not Phase.EMPTY]
    outer = [phase for phase in drawn if phase not in ADMITTED]
    lines = [f"{_SHORT[phase]} : {phase}" for phase in outer]
    inner = [f"{_SHORT[phase]} : {phase}" for phase in ADMITTED]
    inner += [
        f"{_entry(phase)} --> {_SHORT[target]}"
        for phase in (Phase.SUSPENDED, *ADMITTED)
        for target in _targets(phase, ADMITTED)
    ]
    lines += ["ad : Admitted", "state ad {", *(f"  {line}" for line in inner), "}"]
    shared = [p for p in outer if all(p in EDGES[phase] for phase in ADMITTED)]
    lines += [f"ad --> {_SHORT[target]}" for target in shared]
    for phase in _SHORT:
        lines += [
            f"{_SHORT[phase]} --> {_SHORT[target]}"
            for target in _targets(phase, outer)
            if not (phase in ADMITTED and target in shared)
        ]
        if phase not in ADMITTED and _targets(phase, ADMITTED):
            lines.append(f"{_SHORT[phase]} --> ad")
    return [*lines, *_coloured("admitted", "lightblue", ADMITTED), *_ends()]


def _retries(reach: Reach) -> list[str]:
    """Draw the phases between admission and the end."""
    drawn = [*ADMITTED, Phase.SUCCEEDED, Phase.FAILED]
    lines = [f"{_SHORT[phase]} : {phase}" for phase in drawn]
    for phase in drawn:
        for target in _targets(phase, drawn):
            label = _LABELS.get((phase, target))
            lines.append(f"{_SHORT[phase]} --> {_SHORT[target]}" + (f" : {label}" if label else ""))
    holding = [
        phase
        for phase in drawn
        if all(CONDITION_QUOTA_RESERVED in true for true in reach.conditions_in(phase))
    ]
    return [*lines, *_coloured("quota", "lightblue", holding), *_ends()]


def _entry(phase: Phase) -> str:
    return _SHORT[phase] if phase in ADMITTED else "[*]"


def _targets(phase: Phase, among: Iterable[Phase]) -> list[Phase]:
    return [target for target in among if target in EDGES[phase]]


def _ends() -> list[str]:
    return [
        *_coloured("failed", "pink", [Phase.FAILED]),
        *_coloured("succeeded", "lightgreen", [Phase.SUCCEEDED]),
    ]


def _coloured(name: str, colour: str, phases: Iterable[Phase]) -> list[str]:
    return [
        f"classDef {name} fill:{colour}",
        *(f"class {_SHORT[phase]} {name}" for phase in phases),
    ]


def _diagram(lines: Iterable[str]) -> str:
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def _phase_table(reach: Reach) -> str:
    rows = [["Phase", "Meaning", *_CONDITIONS]]
    for phase in Phase:
        sets = reach.conditions_in(phase)
        marks = [
            "yes"
            if all(each in true for true in sets)
            else "·"
            if any(each in true for true in sets)
            else "no"
            for each in _CONDITIONS
        ]
        rows.append([str(phase) or "(none)", _MEANINGS[phase], *marks])
    return _table(rows)


def _deeds() -> Iterator[str]:
    for phase in Phase:
        yield f"### {phase or '(none)'}"
        _, _, described = (PHASES[phase].__doc__ or "").partition("\n\n")
        yield _first(described)
        texts = (text for row in ROWS[phase] for text in _texts(row))
        yield "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _texts(row: Row) -> Iterator[str]:
    """Yield the text of a row; of the row that answers the checks, one for each check."""
    if row is not pods_in_trouble:
        yield _first(row.__doc__)
        return
    for check in CHECKS:
        yield f"{_first(check.__doc__)} {_WITH_GRACE}"


def _reason_table() -> str:
    return _table([["Reason", "Meaning"], *([f"`{each.value}`", each.meaning] for each in Reason)])


def _first(text: str | None) -> str:
    """Return a docstring's first paragraph."""
    return " ".join((text or "").split("\n\n")[0].split())


def _table(rows: list[list[str]]) -> str:
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join(f"| {' | '.join(line)} |".replace("| --- ", "|---") for line in lines)
