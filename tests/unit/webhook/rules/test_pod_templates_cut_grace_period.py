from typing import Any

import pytest

from tests.support.builders import wrapped_kinds
from tests.support.builders.admission import POD, appwrapper, component, warnings_of
from tests.support.builders.annotations import PREFIX, prefixed

FIELD = "terminationGracePeriodSeconds"


def submitted(asked: Any, longest: str | None) -> dict[str, Any]:
    pod = {**POD, "spec": {**POD["spec"], FIELD: asked}}
    made = appwrapper(component(pod))
    if longest is not None:
        made["metadata"]["annotations"] = prefixed(forcefulDeletionGracePeriodDuration=longest)
    return made


OPERATORS = "the operator's forceful deletion period is 10m"
OWN = f"{PREFIX}forcefulDeletionGracePeriodDuration is"


@pytest.mark.parametrize(
    ("asked", "longest", "gets", "because"),
    [
        (601, None, 600, OPERATORS),
        (7200, "2h", 600, OPERATORS),
        (601, "10m", 600, OPERATORS),
        (301, "5m", 300, f"{OWN} 5m"),
        (2, "0s", 1, f"{OWN} 0s"),
    ],
)
def test_pods_that_would_get_less_than_they_ask_for(
    asked: int, longest: str | None, gets: int, because: str
) -> None:
    assert warnings_of(submitted(asked, longest)) == [
        f"spec.components[0].template.spec.{FIELD}: pods get {gets} instead of {asked}: {because}"
    ]


def test_probes_and_pods_without_a_pod_set_are_warned_of_too() -> None:
    probed = {"name": "a", "image": "b", "livenessProbe": {FIELD: 601}}
    submitter = {"spec": {"containers": [probed], "restartPolicy": "Never", FIELD: 602}}
    job = wrapped_kinds.kind(
        "ray.io/v1",
        "RayJob",
        rayClusterSpec=wrapped_kinds.ray(),
        submitterPodTemplate=submitter,
    )
    here = "spec.components[0].template.spec.submitterPodTemplate.spec"
    probe = f"{here}.containers[0].livenessProbe.{FIELD}"
    assert [each for each in warnings_of(appwrapper(component(job))) if FIELD in each] == [
        f"{here}.{FIELD}: pods get 600 instead of 602: {OPERATORS}",
        f"{probe}: pods get 600 instead of 601: {OPERATORS}",
    ]


@pytest.mark.parametrize(
    ("asked", "longest"),
    [(600, None), (600, "2h"), (300, "5m"), (1, "0s"), (0, None), (None, "0s"), (None, None)],
)
def test_pods_that_get_what_they_ask_for(asked: Any, longest: str | None) -> None:
    """Nobody who names no period has a wish that could be cut."""
    assert warnings_of(submitted(asked, longest)) == []
