from typing import Any

import pytest

from controller.facts.appwrapper_outline import requested_amounts

GPU, OTHER = "nvidia.com/gpu", "amd.com/gpu"


def container(requests: Any = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}, **fields}


def gpus(amount: Any, **fields: Any) -> dict[str, Any]:
    return container(limits={GPU: amount}, **fields)


def pod(*containers: Any, init: Any = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": list(containers)}
    if init is not None:
        spec["initContainers"] = init
    return {"spec": spec}


def job(template: Any, parallelism: int = 1) -> dict[str, Any]:
    spec = {"parallelism": parallelism, "completions": parallelism, "template": template}
    return {
        "template": {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec,
        }
    }  # fmt: skip


def amounts(*components: Any) -> dict[str, float]:
    return requested_amounts(components, (GPU, OTHER))


PYTORCHJOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "p"},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": pod(gpus("1"))},
            "Worker": {"replicas": 3, "template": pod(gpus("8"), container())},
        }
    },
}


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        pytest.param([job(pod(gpus("8")), 4)], {GPU: 32.0}, id="each pod counts"),
        pytest.param([{"template": PYTORCHJOB}], {GPU: 25.0}, id="each pod set by itself"),
        pytest.param([job(pod(gpus(2))), job(pod(gpus("1")))], {GPU: 3.0}, id="all components"),
        pytest.param([job(pod(gpus("2"), gpus("1")))], {GPU: 3.0}, id="containers run together"),
        pytest.param(
            [job(pod(container(requests={OTHER: "500m"})))], {OTHER: 0.5}, id="requests, in parts"
        ),
        pytest.param([job(pod(gpus("1"), init=[gpus("4"), gpus("2")]))], {GPU: 4.0}, id="init"),
        pytest.param(
            [job(pod(gpus("2"), init=[gpus("1", restartPolicy="Always"), gpus("1")]))],
            {GPU: 3.0},
            id="a sidecar stays",
        ),
        pytest.param([job(pod(container(requests={"cpu": "1"})))], {}, id="of other resources"),
        pytest.param([job(pod(gpus("0")))], {}, id="none"),
        pytest.param([job(pod(gpus("many"))), job(pod(gpus("1")))], {GPU: 1.0}, id="unreadable"),
        pytest.param([job({"spec": {"containers": "x"}}), {"template": "x"}], {}, id="nonsense"),
        pytest.param([{"podSets": [{"path": "template"}]}], {}, id="no template"),
        pytest.param([job(pod(gpus("1e400")))], {}, id="more than there is"),
        pytest.param([job(pod(gpus("-8")))], {}, id="less than nothing"),
        pytest.param([], {}, id="nothing"),
    ],
)
def test_the_requests_of_all_pods_are_added(
    components: list[Any], expected: dict[str, float]
) -> None:
    assert amounts(*components) == expected
