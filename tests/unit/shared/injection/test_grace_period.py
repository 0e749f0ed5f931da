from datetime import timedelta
from typing import Any

import pytest

from shared.injection.pod_template import FIELD, cap_grace_period

HOUR = 3600


@pytest.mark.parametrize(
    ("asked", "longest", "expected"),
    [
        pytest.param(HOUR, 600, 600, id="cut to what a deletion may take"),
        pytest.param(600, 600, 600, id="just as long"),
        pytest.param(5, 600, 5, id="shorter stays"),
        pytest.param(0, 600, 0, id="none stays none"),
        pytest.param(None, 600, None, id="the default is short enough"),
        pytest.param(None, 10, 10, id="the default is too long"),
        pytest.param(HOUR, 0, 1, id="a node is always asked"),
        pytest.param(HOUR, 0.5, 1, id="whole seconds"),
        pytest.param("soon", 10, "soon", id="no number"),
    ],
)
def test_the_grace_period_of_pods(asked: Any, longest: float, expected: Any) -> None:
    template: dict[str, Any] = {"spec": {} if asked is None else {FIELD: asked}}
    for _ in range(2):
        cap_grace_period(template, timedelta(seconds=longest))
        assert template["spec"].get(FIELD) == expected
