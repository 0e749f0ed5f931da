from datetime import timedelta
from typing import Any

import pytest

from shared.injection.pod_template import cap_grace_periods

FIELD = "terminationGracePeriodSeconds"
HOUR = 3600


def capped(template: dict[str, Any], longest: float = 600) -> dict[str, Any]:
    """The same after a second call: it changes nothing."""
    for _ in range(2):
        cap_grace_periods(template, timedelta(seconds=longest))
    return template


@pytest.mark.parametrize(
    ("asked", "longest", "expected"),
    [
        pytest.param(HOUR, 600, 600, id="cut to what a deletion may take"),
        pytest.param(601, 600, 600, id="a second too long"),
        pytest.param(600, 600, 600, id="just as long"),
        pytest.param(5, 600, 5, id="shorter stays"),
        pytest.param(0, 600, 0, id="none stays none"),
        pytest.param(-1, 600, -1, id="the API server makes 1 of it"),
        pytest.param(None, 600, None, id="the default is short enough"),
        pytest.param(None, 10, 10, id="the default is too long"),
        pytest.param(HOUR, 0, 1, id="a node is always asked"),
        pytest.param(HOUR, 0.5, 1, id="whole seconds"),
        pytest.param(3600.0, 600, 600, id="the API server reads 3600.0 as 3600"),
        pytest.param(1e30, 600, 600, id="beyond 64 bits"),
        pytest.param("soon", 10, "soon", id="no number"),
        pytest.param([HOUR], 10, [HOUR], id="no number either"),
    ],
)
def test_the_grace_period_of_pods(asked: Any, longest: float, expected: Any) -> None:
    template: dict[str, Any] = {"spec": {} if asked is None else {FIELD: asked}}
    assert capped(template, longest)["spec"].get(FIELD) == expected


@pytest.mark.parametrize("containers", ["containers", "initContainers"])
@pytest.mark.parametrize("probe", ["livenessProbe", "startupProbe"])
def test_a_longer_grace_period_of_a_probe_is_cut(containers: str, probe: str) -> None:
    """A kubelet that restarts a container for its probe waits for that period, deleted or not."""
    asked = [{"name": "a"}, {"name": "b", probe: {"periodSeconds": 1, FIELD: 601}}]
    template = capped({"spec": {containers: asked}})
    assert template["spec"][containers] == [
        {"name": "a"},
        {"name": "b", probe: {"periodSeconds": 1, FIELD: 600}},
    ]


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"spec": None},
        {"spec": "a"},
        {"spec": {FIELD: 600, "containers": [{"livenessProbe": {FIELD: 600}}]}},
        {"spec": {"containers": [{"livenessProbe": {}, "startupProbe": None}]}},
        {"spec": {"containers": [None, "a", {"livenessProbe": "b"}], "initContainers": {"a": 1}}},
    ],
)
def test_other_templates_stay_as_they_are(template: dict[str, Any]) -> None:
    before = repr(template)
    assert repr(capped(template)) == before
