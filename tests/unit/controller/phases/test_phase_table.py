"""What holds for every decision: one function per phase, only drawn edges, the promise to Kueue."""

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Actions,
    ActivateWorkload,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordEnds,
    RecordFailures,
    RecordRefusal,
    RecordRemoval,
    RemoveFinalizer,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
)
from controller.phases.decide import ROWS
from controller.phases.findings import EVACUATIONS
from controller.phases.phase import EDGES, Phase
from controller.phases.snapshot import HoldReason, Snapshot
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from tests.support.fakes.virtual_life import carried_out, stored
from tests.support.phase_walk import CONFIG, NOW, every_decision

Decisions = list[tuple[Snapshot, Actions]]
HOLDS_NOTHING = (Phase.EMPTY, Phase.SUSPENDED)
# The next pass sees other components, is in another phase, or is none.
ANOTHER_SITUATION = (
    ActivateWorkload
    | MoveTo
    | PlanDeployment
    | RecordEnds
    | RecordFailures
    | RecordRefusal
    | RemoveFinalizer
)
DELETION_BEGINS = StartTimer(Timer.FORCEFUL_DELETION)
PAUSE_BEGINS = StartTimer(Timer.RETRY_PAUSE)
SWEEP = DeleteComponents(DeletionMode.UNEXPECTED)
SPARING = (Phase.RESETTING, Phase.SUSPENDING)


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    return every_decision()


def test_every_phase_has_rows() -> None:
    assert set(ROWS) == set(Phase) == set(EDGES)


def test_taken_edges_are_exactly_the_drawn_edges(decisions: Decisions) -> None:
    taken: dict[Phase, set[Phase]] = defaultdict(set)
    for snapshot, actions in decisions:
        taken[snapshot.phase] |= moves(actions)
    assert {phase: frozenset(taken[phase]) for phase in Phase} == EDGES


def test_a_decision_moves_and_requeues_at_most_once(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        for kind in (MoveTo, WakeAfter):
            assert sum(isinstance(a, kind) for a in actions) <= 1, (snapshot, actions)


def test_suspension_is_always_respected(decisions: Decisions) -> None:
    """Whatever resets wait for."""
    holding = (Phase.RESUMING, Phase.RUNNING, Phase.RESETTING)
    for snapshot, actions in decisions:
        stops = snapshot.suspend or snapshot.held
        if stops and not snapshot.deletion_requested and snapshot.phase in holding:
            assert MoveTo(Phase.SUSPENDING, Reason.SUSPENDING) in actions


def test_a_workload_is_deactivated_only_when_nothing_is_deployed(decisions: Decisions) -> None:
    """Kueue frees its quota at once."""
    seen = set()
    for snapshot, actions in decisions:
        written = [each.active for each in actions if isinstance(each, ActivateWorkload)]
        assert not written or (snapshot.phase is Phase.SUSPENDED and snapshot.queued)
        if snapshot.held and snapshot.phase in HOLDS_NOTHING:
            assert moves(actions) <= {Phase.SUSPENDED, Phase.TERMINATING}
        seen |= {*written}
    assert seen == {False, True}


def test_resources_deployed_turns_false_only_with_the_proof(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        if turns_false(actions, CONDITION_RESOURCES_DEPLOYED):
            assert snapshot.gone or snapshot.phase in HOLDS_NOTHING, (snapshot, actions)


def test_quota_is_released_only_with_the_proof_or_on_success(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        if not turns_false(actions, CONDITION_QUOTA_RESERVED):
            continue
        if MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED) in actions:
            assert snapshot.pods.under_way == 0, snapshot
        else:
            assert snapshot.gone or snapshot.phase in HOLDS_NOTHING, (snapshot, actions)


def test_through_a_reset_the_quota_is_held_and_it_is_unhealthy(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        after = conditions_after(snapshot, actions)
        if snapshot.phase is Phase.RESETTING and moves(actions) <= {Phase.RESUMING}:
            assert not turns_false(actions, CONDITION_QUOTA_RESERVED)
        if Phase.RESETTING in moves(actions):
            assert CONDITION_UNHEALTHY in after
            assert CONDITION_PODS_READY not in after
        if Phase.RESUMING in moves(actions):
            assert after & {CONDITION_UNHEALTHY, CONDITION_PODS_READY} == frozenset()
            assert after >= {CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED}


def test_the_finalizer_goes_only_with_the_proof(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        if RemoveFinalizer() in actions:
            assert snapshot.gone or snapshot.never_deployed
            assert snapshot.deletion_requested or snapshot.phase is Phase.TERMINATING
            after = conditions_after(snapshot, actions)
            assert after == (frozenset() if snapshot.other_finalizers else snapshot.conditions)


def test_components_are_created_in_resuming_only(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        if CreateComponents() in actions:
            assert (moves(actions) or {snapshot.phase}) == {Phase.RESUMING}
            assert not snapshot.suspend
            assert not snapshot.namespace_ending or snapshot.phase is not Phase.RESUMING
            assert not snapshot.deletion_requested or snapshot.phase is Phase.TERMINATING


def test_only_resets_and_suspensions_spare_what_is_to_be_kept(decisions: Decisions) -> None:
    for snapshot, actions in decisions:
        (phase,) = moves(actions) or {snapshot.phase}
        actions = without_sweep(actions)
        came_from = snapshot.phase if phase in (Phase.RESUMING, Phase.SUSPENDED) else phase
        spares = came_from in SPARING and not snapshot.deletion_requested
        for action in actions:
            if isinstance(action, RecordRemoval) or (
                isinstance(action, DeleteComponents) and snapshot.phase is not Phase.RUNNING
            ):
                assert action.keep == spares, (snapshot, actions)
            elif isinstance(action, DeleteComponents):
                assert action.keep == (phase in SPARING)


def test_only_a_reset_waits_for_permission(decisions: Decisions) -> None:
    """Suspension, deletion, success and failure are decided on as if nothing were in their way.

    Save one failure: that of an AppWrapper which a node drives off without a retry left. And save
    the forcing of pods on a silent node in a reset.
    """
    held = 0
    for snapshot, actions in decisions:
        if snapshot.evacuation_hold is None:
            continue
        permitted = replace(snapshot, evacuation_hold=None, reset_hold=None)
        freely = decide(permitted, NOW, CONFIG)
        if snapshot.phase is Phase.RESETTING and forces_cut_off(freely):
            assert not forces_cut_off(actions)
            continue
        if Phase.RESETTING not in moves(freely) and not driven_off(freely):
            assert actions == freely, snapshot
            continue
        held += 1
        breaker = snapshot.evacuation_hold.reason is HoldReason.BREAKER
        assert not driven_off(actions)
        if Phase.RESETTING in moves(actions):
            assert breaker, "only the breaker lets a reset begin"
        elif Phase.FAILED in moves(actions):
            assert driven_off(freely), "another reason to fail, which waits for nothing"
        else:
            assert not moves(actions)
            rest = without_sweep(actions)
            assert not any(isinstance(action, DeleteComponents) for action in rest)
    assert held > 500


def forces_cut_off(actions: Actions) -> bool:
    modes = [each.mode for each in actions if isinstance(each, DeleteComponents)]
    return DeletionMode.FORCE_CUT_OFF in modes


def driven_off(actions: Actions) -> bool:
    """A node's label or silence decided."""
    return any(isinstance(each, MoveTo) and each.reason in EVACUATIONS for each in actions)


def test_nothing_is_written_or_warned_of_twice(decisions: Decisions) -> None:
    """The next pass writes nothing if it observes the same."""
    for snapshot, actions in decisions:
        if any(isinstance(a, ANOTHER_SITUATION) for a in actions) or DELETION_BEGINS in actions:
            continue
        if PAUSE_BEGINS in actions and WakeAfter(timedelta(0)) in actions:
            continue  # and is over at once
        written, after = carried_out(stored(snapshot), snapshot, actions, NOW)
        after = replace(
            after,
            pods_fell=snapshot.pods_fell and StartTimer(Timer.ADMISSION) not in actions,
            gone=snapshot.gone and not any(isinstance(a, RecordRemoval) for a in actions),
        )
        again = decide(after, NOW, CONFIG)
        assert carried_out(written, after, again, NOW)[0].status == written.status, (
            snapshot,
            actions,
            again,
        )
        warned = {a.reason for a in again if isinstance(a, Warn)}
        assert warned <= {Reason.STRAGGLERS}, "those are warned of as they are removed"


def test_every_warning_about_what_is_wrong_is_in_a_condition(decisions: Decisions) -> None:
    goes_on = (Reason.STRAGGLERS, Reason.NEVER_ENDS)
    for snapshot, actions in decisions:
        messages = {a.message for a in actions if isinstance(a, SetCondition)}
        for action in without_sweep(actions):
            if isinstance(action, Warn) and action.reason not in goes_on:
                assert any(action.message in each for each in messages), (snapshot, actions)


def test_unexpected_objects_are_deleted_in_every_phase(decisions: Decisions) -> None:
    swept: set[Phase] = set()
    for snapshot, actions in decisions:
        assert (SWEEP in actions) == snapshot.unexpected_due
        if snapshot.unexpected_due:
            swept.add(snapshot.phase)
            rest = decide(replace(snapshot, unexpected_due=False), NOW, CONFIG)
            assert [each for each in actions if each != SWEEP] == [*rest]
    assert swept == set(Phase)


def test_no_attempt_begins_and_none_succeeds_while_unexpected_objects_may_use_quota(
    decisions: Decisions,
) -> None:
    waited: set[Phase] = set()
    for snapshot, actions in decisions:
        if not snapshot.unexpected_alive:
            continue
        assert moves(actions).isdisjoint({Phase.RESUMING, Phase.SUCCEEDED})
        freely = moves(decide(replace(snapshot, unexpected_alive=False), NOW, CONFIG))
        if not freely.isdisjoint({Phase.RESUMING, Phase.SUCCEEDED}):
            waited.add(snapshot.phase)
            # A move causes the next pass by itself.
            assert any(isinstance(each, WakeAfter | MoveTo) for each in actions)
    assert waited == {Phase.EMPTY, Phase.SUSPENDED, Phase.RESETTING, Phase.RUNNING}


def without_sweep(actions: Actions) -> Actions:
    """What is decided of the rest. Unexpected objects go in any phase, without a permit."""
    return tuple(action for action in actions if action != SWEEP)


def moves(actions: Actions) -> set[Phase]:
    return {action.phase for action in actions if isinstance(action, MoveTo)}


def turns_false(actions: Actions, condition: str) -> bool:
    return any(
        isinstance(a, SetCondition) and a.type == condition and not a.status for a in actions
    )


def conditions_after(snapshot: Snapshot, actions: Actions) -> frozenset[str]:
    true = set(snapshot.conditions)
    for action in actions:
        if isinstance(action, SetCondition):
            (true.add if action.status else true.discard)(action.type)
    return frozenset(true)
