from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, component, warnings_of
from tests.support.builders.annotations import prefixed

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}


@pytest.mark.parametrize(
    "other",
    [
        component(CLAIM, annotations=prefixed(keep="true")),
        component({**CLAIM, "apiVersion": "example.com/v1"}),
    ],
)
def test_a_claim_that_is_kept_and_another_kind_of_that_name(other: Any) -> None:
    anything: Any = {"allowed_kinds": {"wrapped": ("*",)}}
    assert warnings_of(appwrapper(component(), other), **anything) == []
