"""Components that survive resets and suspensions, and nothing else."""

from dataclasses import replace

import pytest

from controller.phases.actions import DeleteComponents, DeletionMode, MoveTo, Reason
from controller.phases.ask import Need
from controller.phases.deletion import spares_kept
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, PodCounts, Presence, Snapshot
from tests.support.decisions import EXIT_42, JOB, asked
from tests.support.fakes.virtual_life import ALL_RUN, NO_PODS, VirtualLife

CACHE = Component(name="cache", kind="PersistentVolumeClaim", presence=Presence.PRESENT, keep=True)
FAILED = PodCounts(expected=4, running=3, failed=1)
SPARING = [DeleteComponents(keep=True)]
DELETING_JOB = replace(JOB, presence=Presence.DELETING)


def life_with_cache() -> VirtualLife:
    return VirtualLife(components=(JOB, CACHE))


def test_it_survives_a_reset() -> None:
    life = life_with_cache()
    life.step(pods=FAILED)
    life.step()
    assert life.is_in(Phase.RESETTING)
    assert life.deletes == SPARING
    life.step(components=(DELETING_JOB, CACHE), pods=NO_PODS)
    assert life.deletes == SPARING, "it is not asked to go because it is still there"
    life.step(gone=True, components=(replace(JOB, presence=Presence.GONE), CACHE))
    assert "ResourcesDeployed" not in life.conditions
    life.step(gone=False)
    life.step(components=(JOB, CACHE), pods=ALL_RUN)
    assert life.is_in(Phase.RUNNING)


def test_it_survives_a_suspension() -> None:
    life = life_with_cache()
    life.look(suspend=True)
    life.look(gone=True, components=(replace(JOB, presence=Presence.GONE), CACHE))
    assert life.is_in(Phase.SUSPENDED)
    assert life.conditions == frozenset()
    assert life.deletes == SPARING


@pytest.mark.parametrize(
    ("mode", "pods"), [(DeletionMode.FORCE_PODS, 1), (DeletionMode.FORCE_COMPONENTS, 0)]
)
def test_it_is_not_forced_either(mode: DeletionMode, pods: int) -> None:
    life = life_with_cache()
    life.look(suspend=True)
    life.look(components=(DELETING_JOB, CACHE), labelled_pods=pods)
    life.wait(600)
    assert DeleteComponents(mode, keep=True) in life.deletes
    assert all(delete.keep for delete in life.deletes)
    left = "not deleted after the grace period: Job train" + (", 1 pod" if pods else "")
    assert life.reported("DeletingResources") == (True, Reason.DELETION_BLOCKED, left)


def test_it_goes_when_the_appwrapper_fails() -> None:
    life = life_with_cache()
    life.look(pods=replace(FAILED, terminal=EXIT_42))
    life.wait(60)
    assert life.is_in(Phase.FAILED)
    assert life.deletes == [DeleteComponents(keep=False)]


def test_it_goes_with_the_appwrapper() -> None:
    """Also with one that was suspended, and is deleted while nothing else of it is there."""
    life = VirtualLife(
        phase=Phase.SUSPENDED, suspend=True, conditions=frozenset(), components=(CACHE,)
    )
    life.look(deletion_requested=True)
    assert life.is_in(Phase.TERMINATING)
    assert life.deletes == [DeleteComponents(keep=False)]
    life.look(gone=True)
    assert not life.snapshot.finalizer


def test_it_goes_when_a_suspending_appwrapper_is_deleted() -> None:
    life = life_with_cache()
    life.look(suspend=True)
    life.look(deletion_requested=True)
    assert life.deletes == [*SPARING, DeleteComponents(keep=False)]


def test_it_goes_at_the_end_of_the_ttl() -> None:
    life = VirtualLife(
        phase=Phase.SUCCEEDED,
        conditions=frozenset({"ResourcesDeployed"}),
        components=(JOB, CACHE),
    )
    life.look()
    life.wait(7 * 86400)
    assert life.deletes == [DeleteComponents(keep=False)]


def test_a_kept_component_missing_at_resuming_is_created_again() -> None:
    life = VirtualLife(
        phase=Phase.RESUMING, components=(JOB, replace(CACHE, presence=Presence.PLANNED))
    )
    life.look()
    assert life.is_in(Phase.RESUMING)
    life.look(components=(JOB, CACHE))
    assert life.is_in(Phase.RUNNING)


@pytest.mark.parametrize("phase", [Phase.RESUMING, Phase.RUNNING])
def test_a_client_that_deletes_a_kept_component_fails_the_appwrapper(phase: Phase) -> None:
    life = VirtualLife(phase=phase, components=(JOB, replace(CACHE, presence=Presence.GONE)))
    actions = life.look()
    why = "deleted by another client: PersistentVolumeClaim cache"
    assert MoveTo(Phase.FAILED, Reason.MISSING_COMPONENT, why) in actions


@pytest.mark.parametrize(
    ("phase", "deletion_requested", "spares"),
    [
        (Phase.RESETTING, False, True),
        (Phase.SUSPENDING, False, True),
        (Phase.RESETTING, True, False),
        (Phase.SUSPENDING, True, False),
        (Phase.FAILED, False, False),
        (Phase.SUCCEEDED, False, False),
        (Phase.TERMINATING, True, False),
    ],
)
def test_when_the_proof_passes_over_it(
    phase: Phase, deletion_requested: bool, spares: bool
) -> None:
    snapshot = Snapshot(
        phase=phase,
        deletion_requested=deletion_requested,
        finalizer=True,
        conditions=frozenset({"ResourcesDeployed"}),
    )
    assert spares_kept(snapshot) == spares
    if phase is not Phase.SUCCEEDED:
        proof = Need.PROOF_SAVE_KEPT if spares else Need.PROOF
        assert asked(snapshot) == [proof]
