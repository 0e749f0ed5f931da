"""Makes ten thousands of situations of an AppWrapper, as input of `decide`.

Unit tests check the rules, and docs/users/phases.md, with all of them. Facts that may matter in
every phase are combined with all others. The rest is distributed, in the same way every time.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from controller.phases import decide
from controller.phases.actions import Actions, Reason
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.silent_nodes import CutOff, Suspect, UnreachablePods
from controller.phases.snapshot import (
    Component,
    ConditionText,
    CreateProblem,
    Evacuation,
    FaultTolerance,
    HoldReason,
    Misplacement,
    OwnWorkload,
    PodCounts,
    PodSetInfos,
    Presence,
    Queueing,
    ResetHold,
    Snapshot,
    TerminalExit,
    Timers,
)
from shared.api.conditions import Terminal
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.waits.workload import PodsReadyEviction

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO: Final = NOW - timedelta(days=30)
CONFIG: Final = FaultTolerance(fail_unschedulable=timedelta(minutes=2))

_DEPLOYED: Final = frozenset({CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED})
_CONDITIONS: Final = (
    frozenset[str](),
    _DEPLOYED,
    _DEPLOYED | {CONDITION_PODS_READY, CONDITION_UNHEALTHY, CONDITION_DELETING_RESOURCES},
)
_PODS: Final = (
    PodCounts(expected=2),
    PodCounts(expected=2, running=2),
    PodCounts(expected=2, succeeded=2),
    PodCounts(
        expected=2,
        running=1,
        failed=1,
        terminal=TerminalExit("train-0", 42),
    ),
    PodCounts(expected=2, running=1, failed=1),
    PodCounts(expected=2, running=1, pending=1, no_node="no node can hold pod train-0"),
    PodCounts(expected=2, running=1, pending=1, unstable=1, stable_in=timedelta(seconds=9)),
    PodCounts(expected=2, running=1, deleting=1, unawaited=1, stragglers=1),
)
_TIMERS: Final = (
    Timers(),
    Timers(admission=NOW, warmup=NOW, failure=NOW, success=NOW, forceful_deletion=NOW, unready=NOW),
    Timers(admission=LONG_AGO, warmup=LONG_AGO),
    Timers(
        admission=LONG_AGO,
        warmup=LONG_AGO,
        failure=LONG_AGO,
        deletion_on_failure=LONG_AGO,
        forceful_deletion=LONG_AGO,
        retry_pause=LONG_AGO,
        success=LONG_AGO,
        stragglers=LONG_AGO,
        unschedulable=LONG_AGO,
        unready=LONG_AGO,
        records=LONG_AGO,
        store=LONG_AGO,
        no_workload=LONG_AGO,
        queue_reason=LONG_AGO,
    ),
)
_PROBLEMS: Final = (
    None,
    CreateProblem(fatal=True, message="no", refused=0),
    CreateProblem(fatal=False, message="?", retry_at=NOW + timedelta(seconds=4)),
)
_WHY: Final = "403 Forbidden: no"
_EVACUATIONS: Final = (
    None,
    Evacuation("node a"),
    Evacuation("node a", spends_retry=True),
    Evacuation("device gpu-0", root_cause=RootCause(pod="train-0", node="a", failed_pods=0)),
)
_SUSPECTS: Final = (Suspect("b", "train-1", unreachable=True),)
_UNREACHABLE: Final = (
    None,
    UnreachablePods(message="node b", since=LONG_AGO, pods=1, suspects=_SUSPECTS),
    UnreachablePods(message="node b", since=NOW, pods=1, suspects=_SUSPECTS),
)
_CUT_OFF: Final = ((), (CutOff("b", LONG_AGO, "Pod train-1 on node b"),), (CutOff("b", NOW, ""),))
_HOLDS: Final = (
    None,
    ResetHold(HoldReason.RATE, "its turn comes", timedelta(seconds=3)),
    ResetHold(HoldReason.PAUSED, "resets are paused"),
    ResetHold(HoldReason.BREAKER, "an admin must confirm"),
)
_MISPLACEMENT: Final = Misplacement(
    "its pods are assigned to node a", "appwrapper-train-1", "u", "7"
)
_WORKLOAD: Final = OwnWorkload("appwrapper-train-1", "u", "7", active=True)
_WORKLOADS: Final = ((), (_WORKLOAD,), (replace(_WORKLOAD, active=False, deactivated=True),))
_PLACES: Final = (None, _MISPLACEMENT, replace(_MISPLACEMENT, evicted=True))
_CONDITION_TEXTS: Final[tuple[dict[str, ConditionText], ...]] = (
    {},
    {CONDITION_UNHEALTHY: ConditionText(Reason.NO_FAILED_PODS)},
    {CONDITION_UNHEALTHY: ConditionText(Reason.RESET_THROTTLED, "waits")},
    {
        CONDITION_UNHEALTHY: ConditionText(Reason.REASSIGNMENT, "other nodes"),
        CONDITION_QUOTA_RESERVED: ConditionText(Reason.HELD, "a user holds it"),
    },
    {
        CONDITION_DELETING_RESOURCES: ConditionText(
            Reason.DELETION_BLOCKED, "Pod train-0: a finalizer"
        )
    },
)
_CAUSE: Final = RootCause(pod="train-0", node="a", exit_code=1, failed_pods=2, time=LONG_AGO)
_CAUSES: Final = (
    None,
    _CAUSE,
    replace(_CAUSE, message="ValueError: bad shard", recoverable=False),
    replace(_CAUSE, recoverable=False, infrastructure="Evicted"),
    replace(_CAUSE, exits_terminally=True),
)
_QUEUEING: Final = (
    None,
    Queueing(workload=False),
    Queueing(workload=True, pending="insufficient quota"),
    Queueing(workload=True, trouble="LocalQueue q does not exist", certain=True),
)


_WAITING: Final = (Phase.EMPTY, Phase.SUSPENDED)
_Found = tuple[bool, Component, PodCounts, Timers, frozenset[str], int]


@cache
def every_decision() -> list[tuple[Snapshot, Actions]]:
    """Return the decision in each situation."""
    return [(snapshot, decide(snapshot, NOW, CONFIG)) for snapshot in every_snapshot()]


def every_snapshot() -> Iterator[Snapshot]:
    """Yield each situation, and more of them in the phases that can have many findings."""
    dealt = random.Random(39)
    for phase, suspend, deletion in itertools.product(Phase, (False, True), (False, True)):
        watched = phase in (Phase.RESUMING, Phase.RUNNING) and not (suspend or deletion)
        components = tuple(_components())[:: 1 if watched else 4]
        pods = _PODS[:: 1 if watched else 3]
        times = 2 if watched else 1
        for found in itertools.product(
            (False, True), components, pods, _TIMERS, _CONDITIONS, range(times)
        ):
            yield _situation(phase, suspend, deletion, found, dealt.getrandbits(24))


def _situation(phase: Phase, suspend: bool, deletion: bool, found: _Found, bits: int) -> Snapshot:
    gone, component, pods, timers, conditions, _ = found
    return Snapshot(
        phase=phase,
        suspend=suspend,
        held=bits % 16 == 3,
        deletion_requested=deletion,
        finalizer=phase not in _WAITING or deletion,
        never_deployed=deletion and phase in _WAITING and not conditions and bool(bits >> 21 & 1),
        other_finalizers=bits >> 19 & 1 == 1,
        queued=not gone,
        queueing=_QUEUEING[bits >> 13 & 3] if phase is Phase.SUSPENDED and not gone else None,
        planned=bool(bits & 7),
        pod_set_infos=PodSetInfos.COMPLETE if pods.ready else PodSetInfos.MISMATCHED,
        conditions=conditions,
        condition_texts=_CONDITION_TEXTS[(bits >> 3) % 5],
        components=_companions(component, bits >> 5 & 3),
        pods=pods,
        labelled_pods=0 if gone else bits >> 7 & 1,
        stray_pods=bits >> 8 & 7 == 1,
        gone=gone,
        namespace_ending=bits >> 11 & 15 == 1,
        create_problem=_PROBLEMS[(bits >> 15) % 3],
        evacuation=_EVACUATIONS[bits >> 16 & 3],
        unreachable=_UNREACHABLE[(bits >> 9) % 3],
        cut_off=() if gone else _CUT_OFF[(bits >> 9) % 3],
        root_cause=(cause := _CAUSES[(bits >> 6) % 5 if pods.failed or pods.unstable else 0]),
        healed=None if cause else _CAUSES[(bits >> 14) % 2],
        evacuation_hold=(hold := _HOLDS[bits >> 18 & 3]),
        reset_hold=hold if hold and hold.reason is not HoldReason.BREAKER else None,
        workloads=_WORKLOADS[bits % 3],
        misplacement=_PLACES[(bits >> 4) % 3],
        topology_workload="appwrapper-train-1" if bits & 1 else "",
        pods_fell=bits >> 20 & 3 == 1,
        blockers=("Pod train-0: a finalizer",) if bits >> 22 & 1 else (),
        unexpected_due=not gone and bits >> 17 & 7 == 1,
        unexpected_alive=not gone and bits >> 18 & 3 == 1,
        forced_off=("Pod train-1 on node b",) if bits >> 23 & 1 else (),
        pods_ready_eviction=PodsReadyEviction("appwrapper-train-1", 2) if bits >> 2 & 1 else None,
        retries=3 if pods.terminal or bits % 5 == 1 else 0,
        awaits_records=bits >> 12 & 3 == 1,
        reads_store=bits >> 10 & 3 == 1,
        timers=timers,
    )


def _components() -> Iterator[Component]:
    for presence in Presence:
        for terminal in (None, *Terminal):
            yield Component(
                name="train",
                kind="Job",
                presence=presence,
                expected_pods=2,
                reports=True,
                terminal=terminal,
                announced=presence is Presence.PLANNED,
                unreadable=_WHY if presence is Presence.UNKNOWN and terminal is None else "",
            )


def _companions(component: Component, number: int) -> tuple[Component, ...]:
    """Return the component alone, or with a kept one, a helper, or one that still has its pods."""
    match number:
        case 1:
            kept = Component(name="cache", kind="Secret", presence=Presence.PRESENT, keep=True)
            return (component, kept)
        case 2:
            helper = replace(component, name="board", helper=True, reports=False, terminal=None)
            return (component, helper)
        case 3:
            return (component, replace(component, name="eval", terminal=None, endless=True))
        case _:
            return (component,)
