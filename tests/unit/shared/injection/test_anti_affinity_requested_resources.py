from typing import Any

import pytest

from shared.injection.anti_affinity import requested_resources
from shared.injection.fields import InjectionConflict
from tests.support.builders.autopilot import GPU

NIC = "example.org/nic"


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"containers": [container(requests={GPU: "8"})]}, [GPU]),
        ({"containers": [container(limits={GPU: 1})]}, [GPU]),
        ({"containers": [{}, container(requests={"cpu": "1", GPU: "1m"})]}, [GPU]),
        ({"containers": [], "initContainers": [container(limits={GPU: "1"})]}, [GPU]),
        ({"containers": [container(requests={GPU: "0"}, limits={GPU: "2"})]}, [GPU]),
        ({"containers": [container(requests={NIC: "1"}, limits={GPU: "1"})]}, [GPU, NIC]),
        # An amount that is no quantity is refused elsewhere; till then it counts.
        ({"containers": [container(requests={GPU: "many"})]}, [GPU]),
        ({"containers": [container(requests={GPU: True})]}, [GPU]),
        ({"containers": [container(requests={GPU: "1e999999999"})]}, [GPU]),
        ({"containers": [container(requests={GPU: "-1"})]}, [GPU]),
        ({"containers": [container(requests={"cpu": "1"})]}, []),
        ({"containers": [container(requests={GPU: "0m"}, limits={GPU: "0Gi"})]}, []),
        ({"containers": [container(requests={GPU: None}, limits=None)]}, []),
        ({"containers": [{"resources": None}, None]}, []),
        ({"containers": None, "initContainers": None}, []),
        ({}, []),
        ({"ephemeralContainers": [container(requests={GPU: "1"})]}, []),
    ],
)
def test_only_what_some_container_asks_for(spec: dict[str, Any], found: list[str]) -> None:
    assert requested_resources(spec, (GPU, NIC), "spec") == found


@pytest.mark.parametrize("zero", ["0", "0.0", "0Ki", "k", 0, 0.0, None])
def test_nothing_is_nothing_however_it_is_written(zero: Any) -> None:
    assert requested_resources({"containers": [container(requests={GPU: zero})]}, [GPU], "") == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": {}}, "spec.containers is an object, not an array"),
        ({"initContainers": "x"}, "spec.initContainers is a string, not an array"),
        ({"containers": [{}, "x"]}, "spec.containers[1] is a string, not an object"),
        (
            {"containers": [{"resources": []}]},
            "spec.containers[0].resources is an array, not an object",
        ),
        (
            {"containers": [container(limits="x")]},
            "spec.containers[0].resources.limits is a string, not an object",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InjectionConflict) as raised:
        requested_resources(spec, [GPU], "spec")
    assert str(raised.value) == message
