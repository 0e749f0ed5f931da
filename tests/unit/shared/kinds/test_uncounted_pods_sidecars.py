"""What a pod uses by its sidecars beyond what Kueue counts: by the formula of Kubernetes."""

from typing import Any

import pytest

from shared.kinds.uncounted_pods import beyond_the_copy, resources_used


def container(gpus: Any, *, sidecar: bool = False) -> dict[str, Any]:
    policy = {"restartPolicy": "Always"} if sidecar else {}
    return {"resources": {"limits": {"nvidia.com/gpu": gpus}}, **policy}


def side(gpus: Any) -> dict[str, Any]:
    return container(gpus, sidecar=True)


@pytest.mark.parametrize(
    ("starting", "running", "blamed"),
    [
        ([side(1)], [1], [0]),  # 2 used, 1 counted
        ([side(1)], [0], []),  # 1 used, 1 counted
        ([side(1), side(1)], [0], [0, 1]),
        ([side(1), side(1)], [2], [0, 1]),
        ([side(0), side(1)], [1], [1]),
        ([container(4), side(1)], [1], []),  # 4 while starting, then 2; 4 counted
        ([container(4), side(1)], [3], []),  # 4 used, 4 counted
        ([container(4), side(1)], [4], [1]),  # 5 used, 4 counted
        ([side(1), container(4)], [1], [0]),  # it runs beside the init container: 5 used, 4 counted
        ([container(8)], [1], []),
        ([], [1], []),
        ([side("1"), container("1000m")], ["500m"], [0]),
        ([side(None)], [1], []),
    ],
)
def test_which_sidecars_make_a_pod_use_more_than_is_counted(
    starting: Any, running: Any, blamed: list[int]
) -> None:
    spec = {"initContainers": starting, "containers": [container(each) for each in running]}
    assert [found.path for found in beyond_the_copy(spec)] == [
        f"initContainers[{index}].resources" for index in blamed
    ]


def test_a_request_counts_before_a_limit() -> None:
    both = {"resources": {"requests": {"cpu": 0}, "limits": {"cpu": 9, "memory": 1}}}
    spec = {"containers": [both], "initContainers": [{**both, "restartPolicy": "Always"}]}
    [found] = beyond_the_copy(spec)
    assert found.uses == {"memory"}


def test_pod_level_resources_are_what_a_pod_uses() -> None:
    limits = {"limits": {"cpu": 2, "memory": 1}}
    spec = {"containers": [{"resources": limits}], "resources": {"requests": {"cpu": 3}}}
    [found] = beyond_the_copy(spec)
    assert (found.path, sorted(found.uses)) == ("resources", ["cpu"])
    assert list(beyond_the_copy({**spec, "resources": limits})) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"initContainers": "x", "containers": 3, "resources": []},
        {"initContainers": [None, 3, {"restartPolicy": "Always", "resources": "x"}]},
        {"initContainers": [side(1)], "containers": [None, {"resources": {"limits": 4}}]},
        {"initContainers": [side("many")], "containers": [container([])]},
    ],
)
def test_malformed_templates_are_ignored(spec: Any) -> None:
    list(beyond_the_copy(spec))


def test_resources_that_a_template_uses() -> None:
    spec = {
        "containers": [{"resources": {"requests": {"a": 1, "zero": 0, "none": None}}}],
        "initContainers": [{"resources": {"limits": {"b": "1"}}}, {}],
        "resources": {"requests": {"c": 1}},
    }
    assert resources_used({"spec": spec}) == {"a", "b", "c"}
    assert resources_used(None) == resources_used({"spec": []}) == frozenset()
