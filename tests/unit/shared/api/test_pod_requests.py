"""What a pod asks for."""

from decimal import Decimal
from typing import Any

import pytest

from shared.api.pod_requests import all_requested


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpus"),
    [
        ({"containers": [container("1"), container("500m")]}, "1.5"),
        ({"containers": [container("1")], "initContainers": [container("3")]}, "3"),
        # A sidecar runs beside the containers, and beside the init containers after it.
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", restartPolicy="Always"), container("3")],
            },
            "4",
        ),
        (
            {
                "containers": [container("3")],
                "initContainers": [container("3"), container("1", restartPolicy="Always")],
            },
            "4",
        ),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, "2"),
        (
            {"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]},
            "1",
        ),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}}, "5"),
        ({"containers": [container("1")], "overhead": {"cpu": "1"}}, "2"),
    ],
)
def test_the_request_of_a_pod_is_the_amount_that_the_scheduler_reserves(
    spec: dict[str, Any], cpus: str
) -> None:
    assert all_requested(spec) == {"cpu": Decimal(cpus)}
