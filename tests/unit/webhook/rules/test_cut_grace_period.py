from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, warnings_of
from tests.support.builders.annotations import PREFIX, prefixed

FIELD = "terminationGracePeriodSeconds"


def submitted(asked: Any, longest: str | None) -> dict[str, Any]:
    pod = {**POD, "spec": {**POD["spec"], FIELD: asked}}
    made = appwrapper(component(pod))
    if longest is not None:
        made["metadata"]["annotations"] = prefixed(forcefulDeletionGracePeriodDuration=longest)
    return made


@pytest.mark.parametrize(
    ("asked", "longest", "gets", "now"),
    [(601, None, 600, "10m"), (7201, "2h", 7200, "2h"), (2, "0s", 1, "0s")],
)
def test_pods_that_would_get_less_than_they_ask_for(
    asked: int, longest: str | None, gets: int, now: str
) -> None:
    assert warnings_of(submitted(asked, longest)) == [
        f"spec.components[0].template.spec.{FIELD}: pods get {gets} instead of {asked}, since "
        f"{PREFIX}forcefulDeletionGracePeriodDuration is {now}"
    ]


@pytest.mark.parametrize(
    ("asked", "longest"),
    [(600, None), (7200, "2h"), (1, "0s"), (0, None), (None, "0s"), (None, None)],
)
def test_pods_that_get_what_they_ask_for(asked: Any, longest: str | None) -> None:
    """Nobody who names no period has a wish that could be cut."""
    assert warnings_of(submitted(asked, longest)) == []
