"""An operator hears that an object is gone after it has heard that the object's pods are gone.

It creates the pods again, unless the object had ended, or showed the beginning of its deletion.
"""

import pytest

from tests.simulation.choices import Recorded
from tests.simulation.scenarios import GONE, SCENARIOS, Act, Scenario, _one
from tests.simulation.workloads import pytorch
from tests.simulation.world import World

TRAINING, RAY = "training operator", "ray cluster controller"
ENDED = _one("deleted after its end", pytorch("x"), acts=(Act(40.0, "delete", "a"),), end=GONE)


@pytest.mark.parametrize(
    ("operator", "scenario"),
    [
        (TRAINING, SCENARIOS["PyTorchJob, suspend"]),
        (TRAINING, SCENARIOS["PyTorchJob, deleted while its pods are made"]),
        (TRAINING, ENDED),
        (RAY, SCENARIOS["RayCluster"]),
    ],
    ids=["suspended", "deleted", "ended", "RayCluster"],
)
def test_no_pod_is_made_after_a_proof_although_its_operator_hears_late_of_the_end(
    operator: str, scenario: Scenario
) -> None:
    late = Recorded({(f"{operator} hears of the end of x", 1): 1})
    outcome = World(late, scenario).run()
    assert late.deviations
    assert (outcome.violations, outcome.ends) == ((), scenario.ends)
