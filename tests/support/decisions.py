"""Situations of an AppWrapper, and the decision in each as text.

A decision has one line per action, so that a table of decisions reads as a list of events:

    @decisions({"a failed pod starts the grace period": (RUNNING.pods(running=3, failed=1), "…")})
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Action,
    Actions,
    ActivateWorkload,
    AddFinalizer,
    ChooseAnotherName,
    ClearTimer,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    EvictWorkload,
    MoveTo,
    PlanDeployment,
    RecordDeployment,
    RecordEnds,
    RecordFailures,
    RecordPodSets,
    RecordRefusal,
    RecordRemoval,
    RecordRootCause,
    RecordSuspect,
    RemoveFinalizer,
    SetCondition,
    StartTimer,
    WakeAfter,
    Warn,
)
from controller.phases.ask import Ask, Need
from controller.phases.decide import next_step
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    Misplacement,
    PodCounts,
    Presence,
    Snapshot,
    TerminalExit,
    Timers,
)
from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from tests.support.moments import NOW, ago

CONFIG: Final = FaultTolerance()
HOLDING: Final = frozenset({"QuotaReserved", "ResourcesDeployed"})
READY: Final = HOLDING | {"PodsReady"}
JOB: Final = Component(
    name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True
)
EXIT_42: Final = TerminalExit("train-0", 42)
SERVICE: Final = Component(name="rendezvous", kind="Service", presence=Presence.PRESENT)
# It reports no end.
DEPLOYMENT: Final = replace(JOB, name="serve", kind="Deployment", reports=False)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the controller observes at NOW, with the effective configuration."""

    snapshot: Snapshot
    config: FaultTolerance = CONFIG

    def but(self, **changes: Any) -> "Situation":
        """Returns the situation with other fields of the snapshot."""
        return replace(self, snapshot=replace(self.snapshot, **changes))

    def pods(self, **counts: Any) -> "Situation":
        """Returns the situation with these pods and no others; as many are expected as before."""
        expected = counts.pop("expected", self.snapshot.pods.expected)
        return self.but(pods=PodCounts(expected=expected, **counts))

    def since(self, **seconds: float) -> "Situation":
        """Returns the situation in which these timers, and no others, began so long before NOW."""
        return self.but(timers=Timers(**{timer: ago(each) for timer, each in seconds.items()}))

    def reported(self, condition: str, reason: str, message: str = "") -> "Situation":
        """Returns the situation in which a condition has this text already."""
        return self.but(
            condition_texts={
                **self.snapshot.condition_texts,
                condition: ConditionText(reason, message),
            }
        )

    def after(self, report: ConditionReport) -> "Situation":
        """Returns the situation after this process wrote `report`."""
        others = self.snapshot.conditions - {report.type}
        return self.reported(report.type, report.reason, report.text()).but(
            conditions=others | {report.type} if report.status else others,
            reported={**self.snapshot.reported, report.type: report},
        )

    def job(self, **changes: Any) -> "Situation":
        """Returns the situation with the component JOB changed, and no other component."""
        return self.but(components=(replace(JOB, **changes),))

    def configured(self, **changes: Any) -> "Situation":
        """Returns the situation under another configuration."""
        return replace(self, config=replace(self.config, **changes))

    @property
    def actions(self) -> Actions:
        """Decides."""
        return decide(self.snapshot, NOW, self.config)

    @property
    def decision(self) -> list[str]:
        """Returns the decision, one line per action."""
        return [line(action) for action in self.actions]

    @property
    def moves(self) -> list[str]:
        """Returns the lines of the decision that enter a phase."""
        return [line(action) for action in self.actions if isinstance(action, MoveTo)]


_PROOFS: Final = frozenset({Need.PROOF, Need.PROOF_SAVE_KEPT})


def asked_and_decided(
    snapshot: Snapshot, config: FaultTolerance = CONFIG, now: datetime = NOW
) -> tuple[list[Need], Actions]:
    """Drives one pass that has read nothing yet; `snapshot` has all answers."""
    asked: list[Need] = []
    unread = frozenset(Need)
    while isinstance(step := next_step(replace(snapshot, unread=unread), now, config), Ask):
        asked.append(step.need)
        unread -= {step.need, *({Need.OBSERVED} if step.need in _PROOFS else ())}
    return asked, step


def asked(snapshot: Snapshot, config: FaultTolerance = CONFIG) -> list[Need]:
    """Returns what a pass that observes this asks for, in this order."""
    return asked_and_decided(snapshot, config)[0]


_RUNNING: Final = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=READY,
    components=(JOB,),
    pods=PodCounts(expected=4, running=4),
)
RUNNING: Final = Situation(_RUNNING)
# A deletion began a minute ago and has not ended.
SUSPENDING: Final = Situation(
    Snapshot(
        phase=Phase.SUSPENDING,
        suspend=True,
        finalizer=True,
        conditions=HOLDING | {"DeletingResources"},
        condition_texts={"DeletingResources": ConditionText(Reason.DELETION_INITIATED)},
        components=(replace(JOB, presence=Presence.DELETING),),
        labelled_pods=2,
    )
).since(forceful_deletion=60)


def decisions(
    table: Mapping[str, tuple[Situation, str]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test with `situation` and `expected` of each entry, under the entry's name.

    The expected decision may be indented and may contain empty lines.
    """
    cases = [
        pytest.param(situation, lines(expected), id=name)
        for name, (situation, expected) in table.items()
    ]
    return pytest.mark.parametrize(("situation", "expected"), cases)


def lines(text: str) -> list[str]:
    """Returns the lines of a text that are not empty, without their indentation."""
    return [each.strip() for each in text.splitlines() if each.strip()]


def line(action: Action) -> str:
    """Returns an action as one line that contains all of its fields."""
    match action:
        case MoveTo(phase, reason, message, spend_retry, logged):
            spent = ", spending a retry" if spend_retry else ""
            return f"-> {phase.value} ({reason.value}{spent}){_details(message, logged)}"
        case SetCondition(kind, status, reason, message, logged):
            return f"{kind}={status} ({reason.value}){_details(message, logged)}"
        case Warn(reason, message, logged):
            return f"warn ({reason.value}){_details(message, logged)}"
        case StartTimer(timer):
            return f"start {timer.field}"
        case ClearTimer(timer):
            return f"clear {timer.field}"
        case DeleteComponents(mode, keep):
            how = "" if mode is DeletionMode.GRACEFUL else f" {mode.value}"
            return f"delete{how}{_SPARING if keep else ''}"
        case EvictWorkload(Misplacement(message, name, uid, version)):
            return f"evict Workload {name} ({uid}, {version}): {message}"
        case ActivateWorkload(workload, active):
            does = "activate" if active else "deactivate"
            return f"{does} Workload {workload.name} ({workload.uid}, {workload.version})"
        case WakeAfter(delay):
            return f"wake after {delay.total_seconds():g}s"
        case _:
            return _record(action)


_SPARING: Final = ", sparing kept components"


def _details(message: str, logged: str | None) -> str:
    text = f": {message}" if message else ""
    return text if logged is None else f"{text} [logged: {logged}]"


def _record(action: Action) -> str:
    match action:
        case RecordDeployment(indices):
            which = "all" if indices is None else ", ".join(map(str, indices))
            return f"record as created: {which}"
        case RecordRemoval(keep):
            return f"record as deleted{_SPARING if keep else ''}"
        case RecordRefusal(index, message):
            return f"record as refused: {index}: {message}"
        case RecordEnds(indices):
            return f"record as succeeded: {', '.join(map(str, indices))}"
        case RecordFailures(failures):
            return f"record as failed: {', '.join(f'{i}: {why}' for i, why in failures)}"
        case RecordSuspect(suspect):
            return f"suspect node {suspect.node} of pod {suspect.pod}"
        case RecordRootCause(cause, decision, consequence, terminal):
            final = ", non-recoverable" if terminal else ""
            return f"record root cause ({decision.value}{final}) {cause}: {consequence}"
        case ChooseAnotherName(index):
            return f"choose another name for {index}"
        case _:
            return _PLAIN[type(action)]


_PLAIN: Final[dict[type[Any], str]] = {
    RecordPodSets: "record pod sets",
    PlanDeployment: "plan the next attempt",
    AddFinalizer: "add finalizer",
    RemoveFinalizer: "remove finalizer",
    CreateComponents: "create",
}

# What several phases decide.

_BEGINS: Final = """
    DeletingResources=True (DeletionInitiated)
    start forceful_deletion
    delete{}
    wake after 5s
"""
DELETION_BEGINS: Final = _BEGINS.format("")
SPARING_DELETION_BEGINS: Final = _BEGINS.format(_SPARING)
_ENDS: Final = """
    ResourcesDeployed=False (DeletionComplete)
    DeletingResources=False (DeletionComplete)
    record as deleted{}
"""
DELETION_ENDS: Final = _ENDS.format("")
SPARING_DELETION_ENDS: Final = _ENDS.format(_SPARING)


def fails(reason: Reason, message: str, logged: str | None = None) -> str:
    """Returns the decision that an AppWrapper failed."""
    return f"""
        -> Failed ({reason.value}){_details(message, logged)}
        Unhealthy=True ({reason.value}){_details(message, logged)}
        {DELETION_BEGINS}
    """


def resets(
    reason: Reason, message: str, logged: str | None = None, *, spent: int = 1, free: bool = False
) -> str:
    """Returns the decision to reset. `free`: it spends no retry."""
    costs = "" if free else ", spending a retry"
    return f"""
        -> Resetting ({reason.value}{costs}){_details(message, logged)}
        Unhealthy=True ({reason.value}){_details(message, logged)}
        PodsReady=False (Resetting): {spent} of 3 retries spent; the next attempt begins 1m30s \
after everything is deleted
        {SPARING_DELETION_BEGINS}
    """


def deploys(reason: Reason, quota: str = "") -> str:
    """Returns the decision to create the next attempt. `quota`: the message of QuotaReserved."""
    return f"""
        -> Resuming ({reason.value})
        plan the next attempt
        start admission
        start warmup
        QuotaReserved=True (Resuming){_details(quota, None)}
        ResourcesDeployed=True (Resuming)
        PodsReady=False (Resuming)
        Unhealthy=False (Resuming)
        create
        wake after 0s
    """


SUCCEEDS: Final = """
    -> Succeeded (Succeeded)
    start success
    QuotaReserved=False (Succeeded)
    wake after 604800s
"""
