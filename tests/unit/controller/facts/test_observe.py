"""What was found before an observation is no part of it."""

from controller.facts.observe import Observation, Reads, observe
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.appwrapper import AppWrapper
from tests.support.builders.gathering import NOW, RUNNING_PODS, appwrapper


def test_an_observation_after_a_proof_of_deletion_drops_the_proof() -> None:
    """Quota is released by this proof, and pods may have been read since."""
    proved = Snapshot(
        phase=Phase.SUSPENDING, gone=True, blockers=("Job train waits",), forced_off=("Pod a",)
    )
    before = Observation(AppWrapper(appwrapper("Suspending")), proved, FaultTolerance())
    seen = observe(Reads(before, NOW, pods=RUNNING_PODS))
    assert [each.name for each in seen.pods] == ["a", "b"]
    found = seen.snapshot
    assert (found.gone, found.blockers, found.forced_off) == (False, (), ())
