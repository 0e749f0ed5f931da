"""What holds for every decision: one function per phase, only drawn edges, the promise to Kueue."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Actions,
    CreateComponents,
    MoveTo,
    Reason,
    RemoveFinalizer,
    RequeueAfter,
    SetCondition,
)
from controller.phases.decide import BY_PHASE
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import EDGES, Phase
from controller.phases.snapshot import (
    Component,
    CreateProblem,
    PodCounts,
    PodSetInfos,
    Presence,
    Snapshot,
    Terminal,
    Timers,
)
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)
CONFIG = FaultTolerance()

DEPLOYED = frozenset({CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED})
CONDITIONS = (
    frozenset[str](),
    DEPLOYED,
    DEPLOYED | {CONDITION_PODS_READY, CONDITION_UNHEALTHY, CONDITION_DELETING_RESOURCES},
)
PODS = (
    PodCounts(expected=2),
    PodCounts(expected=2, running=2),
    PodCounts(expected=2, succeeded=2),
    PodCounts(expected=2, running=1, failed=1, terminal_exit=True),
    PodCounts(expected=2, running=1, failed=1),
)
TIMERS = (
    Timers(),
    Timers(admission=NOW, warmup=NOW, failure=NOW, success=NOW, forceful_deletion=NOW),
    Timers(
        admission=LONG_AGO,
        warmup=LONG_AGO,
        failure=LONG_AGO,
        deletion_on_failure=LONG_AGO,
        forceful_deletion=LONG_AGO,
        retry_pause=LONG_AGO,
        success=LONG_AGO,
    ),
)
PROBLEMS = (None, CreateProblem(fatal=True, message="no"), CreateProblem(fatal=False, message="?"))


def components() -> Iterator[tuple[Component, ...]]:
    for presence in Presence:
        for terminal in (None, *Terminal):
            yield (
                Component(
                    name="train",
                    kind="Job",
                    presence=presence,
                    expected_pods=2,
                    reports=True,
                    terminal=terminal,
                ),
            )


def every_snapshot() -> Iterator[Snapshot]:
    for phase, suspend, deletion, gone, parts, pods, timers, conditions in itertools.product(
        Phase, (False, True), (False, True), (False, True), components(), PODS, TIMERS, CONDITIONS
    ):
        problem = PROBLEMS[(len(conditions) + pods.running) % 3]
        yield Snapshot(
            phase=phase,
            suspend=suspend,
            deletion_requested=deletion,
            finalizer=phase not in (Phase.EMPTY, Phase.SUSPENDED) or deletion,
            queued=not gone,
            pod_set_infos=PodSetInfos.COMPLETE if pods.ready else PodSetInfos.MISMATCHED,
            conditions=conditions,
            components=parts,
            pods=pods,
            gone=gone,
            create_problem=problem,
            retries=3 if pods.terminal_exit else 0,
            timers=timers,
        )


@pytest.fixture(scope="module")
def decisions() -> list[tuple[Snapshot, Actions]]:
    return [(snapshot, decide(snapshot, NOW, CONFIG)) for snapshot in every_snapshot()]


def test_every_phase_has_a_function() -> None:
    assert set(BY_PHASE) == set(Phase) == set(EDGES)


def test_taken_edges_are_exactly_the_drawn_edges(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    taken: dict[Phase, set[Phase]] = defaultdict(set)
    for snapshot, actions in decisions:
        taken[snapshot.phase] |= {a.phase for a in actions if isinstance(a, MoveTo)}
    assert {phase: frozenset(taken[phase]) for phase in Phase} == EDGES


def test_a_decision_moves_and_requeues_at_most_once(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    for snapshot, actions in decisions:
        for kind in (MoveTo, RequeueAfter):
            assert sum(isinstance(a, kind) for a in actions) <= 1, (snapshot, actions)


def test_suspension_is_always_respected(decisions: list[tuple[Snapshot, Actions]]) -> None:
    holding = (Phase.RESUMING, Phase.RUNNING, Phase.RESETTING)
    for snapshot, actions in decisions:
        if snapshot.suspend and not snapshot.deletion_requested and snapshot.phase in holding:
            assert MoveTo(Phase.SUSPENDING, Reason.SUSPENDING) in actions


def test_resources_deployed_turns_false_only_with_the_proof(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    for snapshot, actions in decisions:
        if _turns_false(actions, CONDITION_RESOURCES_DEPLOYED):
            holds_none = snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED)
            assert snapshot.gone or holds_none, (snapshot, actions)


def test_quota_goes_back_only_with_the_proof_or_on_success(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    for snapshot, actions in decisions:
        if not _turns_false(actions, CONDITION_QUOTA_RESERVED):
            continue
        if MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED) in actions:
            under_way = snapshot.pods.pending + snapshot.pods.running + snapshot.pods.deleting
            assert under_way == 0, snapshot
        else:
            holds_none = snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED)
            assert snapshot.gone or holds_none, (snapshot, actions)


def test_the_finalizer_goes_only_with_the_proof(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    for snapshot, actions in decisions:
        if RemoveFinalizer() in actions:
            assert snapshot.gone
            assert snapshot.deletion_requested or snapshot.phase is Phase.TERMINATING


def test_components_are_created_in_resuming_only(
    decisions: list[tuple[Snapshot, Actions]],
) -> None:
    for snapshot, actions in decisions:
        if CreateComponents() in actions:
            moves = {a.phase for a in actions if isinstance(a, MoveTo)}
            assert (moves or {snapshot.phase}) == {Phase.RESUMING}
            assert not snapshot.suspend
            assert not snapshot.deletion_requested or snapshot.phase is Phase.TERMINATING


def _turns_false(actions: Actions, condition: str) -> bool:
    return any(
        isinstance(a, SetCondition) and a.type == condition and not a.status for a in actions
    )
