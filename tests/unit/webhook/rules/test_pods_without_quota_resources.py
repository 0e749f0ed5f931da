from typing import Any

import pytest

from tests.support.builders.admission import (
    POD,
    appwrapper,
    component,
    errors_of,
    queued,
    team_facts,
    warnings_of,
)

GPU = {"requests": {"nvidia.com/gpu": 1}}
CLAIMS = (
    "resourceClaims: not counted against the quota: "
    "Kueue does not see resource claims of an AppWrapper"
)
POD_LEVEL = (
    "resources: not counted against the quota: Kueue only sees what each container requests: "
    "request it there"
)
SIDECAR = (
    "initContainers[1].resources: not counted against the quota: Kueue counts this sidecar as an "
    "init container that ends before the pod's containers start"
)

USED = {"containers": [{"name": "c", "image": "i", "resources": GPU}]}


def sidecar(resources: Any, policy: Any = "Always") -> dict[str, Any]:
    return {"name": "s", "image": "i", "restartPolicy": policy, "resources": resources}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}, [CLAIMS]),
        ({"resources": GPU}, [POD_LEVEL]),
        ({"resources": {"limits": {"cpu": 1}}}, [POD_LEVEL]),
        ({"initContainers": [sidecar({}), sidecar(GPU)], **USED}, [SIDECAR]),
        ({"initContainers": [sidecar(GPU, None), sidecar(GPU)]}, []),  # one after the other
        ({"resourceClaims": [{"name": "x"}], "resources": GPU}, [POD_LEVEL, CLAIMS]),
        ({"resources": GPU, **USED}, []),
        ({"resourceClaims": [], "resources": {"requests": {}}}, []),
        ({"initContainers": [sidecar({}), sidecar(GPU, "OnFailure"), sidecar(None)]}, []),
        ({"containers": [{"name": "c", "image": "i", "resources": GPU}]}, []),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_resources_that_kueue_does_not_count(kind: str, fields: Any, says: list[str]) -> None:
    spec = {**POD["spec"], **fields}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    template, path = {
        "Pod": ({**POD, "spec": spec}, "template.spec"),
        "Job": ({**job, "spec": {"template": {"spec": spec}}}, "template.spec.template.spec"),
    }[kind]
    found = warnings_of(appwrapper(component(template)))
    assert found == [f"spec.components[0].{path}.{text}" for text in says]


def pod(**fields: Any) -> dict[str, Any]:
    return queued(component({**POD, "spec": {**POD["spec"], **fields}}))


SPEC = "spec.components[0].template.spec"
CLAIMS_REFUSED = (
    f"{SPEC}.resourceClaims: Forbidden: Kueue does not see resource claims of an AppWrapper: "
    "request devices in the containers' resources, or have an admin allow claims "
    "(configuration resourceClaims)"
)


def refused(sidecar: int, resources: str) -> str:
    return (
        f"{SPEC}.initContainers[{sidecar}].resources: Forbidden: {resources} would be used without "
        "quota: Kueue counts this sidecar as an init container that ends before the pod's "
        "containers start: make it one of spec.containers"
    )


def test_in_a_team_each_sidecar_with_uncounted_gpus_is_refused() -> None:
    eight = pod(initContainers=[sidecar(GPU) for _ in range(8)])
    gpu = "nvidia.com/gpu"
    assert errors_of(eight, known=team_facts()) == [refused(index, gpu) for index in range(8)]
    assert errors_of(eight) == []
    assert len(warnings_of(eight)) == 8
    assert errors_of(pod(initContainers=[sidecar(GPU)]), known=team_facts()) == []


@pytest.mark.parametrize(
    ("resource", "config", "is_refused"),
    [
        ("nvidia.com/gpu", {}, True),
        ("example.com/dongle", {}, True),  # whatever a device plugin serves
        ("cpu", {}, False),
        ("memory", {}, False),
        ("hugepages-2Mi", {}, False),
        ("pods.kubernetes.io/x", {}, False),
        ("memory", {"counted_resources": ("memory",)}, True),
    ],
)
def test_which_resources_no_pod_of_a_team_uses_uncounted(
    resource: str, config: Any, is_refused: bool
) -> None:
    some = {"limits": {resource: "1"}}
    busy = {"containers": [{"name": "c", "image": "i", "resources": some}]}
    body, known = pod(initContainers=[sidecar(some)], **busy), team_facts(**config)
    if is_refused:
        assert errors_of(body, known=known) == [refused(0, resource)]
    else:
        assert errors_of(body, known=known) == []
        assert warnings_of(body, known=known) == [
            f"{SPEC}.{SIDECAR.replace('initContainers[1]', 'initContainers[0]')}"
        ]


def test_only_what_is_counted_of_a_sidecar_is_named() -> None:
    both = {"requests": {"nvidia.com/gpu": 1, "cpu": 1, "b.example/x": 1}}
    busy = {"containers": [{"name": "c", "image": "i", "resources": both}]}
    found = errors_of(pod(initContainers=[sidecar(both)], **busy), known=team_facts())
    assert found == [refused(0, "b.example/x, nvidia.com/gpu")]


def test_pod_level_resources_that_are_counted_are_refused() -> None:
    known = team_facts(counted_resources=("cpu",))
    body = pod(resources={"requests": {"cpu": 8, "memory": "1Gi"}})
    assert errors_of(body, known=known) == [
        f"{SPEC}.resources: Forbidden: cpu would be used without quota: "
        "Kueue only sees what each container requests: request it there"
    ]
    assert errors_of(body, known=team_facts()) == []


def test_resource_claims_are_refused_in_teams_unless_an_admin_allows_them() -> None:
    body = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}])
    assert errors_of(body, known=team_facts()) == [CLAIMS_REFUSED]
    warned = team_facts(resource_claims="Warn")
    assert errors_of(body, known=warned) == []
    assert warnings_of(body, known=warned) == warnings_of(body) == [f"{SPEC}.{CLAIMS}"]


def test_kueue_counts_no_resource_claim_of_an_appwrapper() -> None:
    counts = team_facts(resource_claims="Count")
    for claim in ({"resourceClaimName": "x"}, {"resourceClaimTemplateName": "x"}):
        body = pod(resourceClaims=[{"name": "gpu", **claim}])
        assert errors_of(body, known=counts) == [
            f"{SPEC}.resourceClaims: Forbidden: Kueue does not see resource claims of an "
            "AppWrapper: request devices in the containers' resources"
        ]


def test_resource_claims_of_a_submitter_are_refused_too() -> None:
    template = {"spec": POD["spec"]}
    submitter = {"spec": {**POD["spec"], "resourceClaims": [{"name": "x"}]}}
    job = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "spec": {
            "rayClusterSpec": {"headGroupSpec": {"template": template}},
            "submitterPodTemplate": submitter,
        },
    }
    assert errors_of(queued(component(job)), known=team_facts()) == [
        CLAIMS_REFUSED.replace(SPEC, f"{SPEC}.submitterPodTemplate.spec")
    ]
