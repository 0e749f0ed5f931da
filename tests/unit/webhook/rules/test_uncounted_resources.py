from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, warnings_of

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
    "initContainers[1].resources: not counted against the quota: Kueue takes this sidecar for an "
    "init container, which is done before the pod's containers start"
)


def sidecar(resources: Any, policy: Any = "Always") -> dict[str, Any]:
    return {"name": "s", "image": "i", "restartPolicy": policy, "resources": resources}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}, [CLAIMS]),
        ({"resources": GPU}, [POD_LEVEL]),
        ({"resources": {"limits": {"cpu": 1}}}, [POD_LEVEL]),
        ({"initContainers": [sidecar(GPU, None), sidecar(GPU)]}, [SIDECAR]),
        ({"resourceClaims": [{"name": "x"}], "resources": GPU}, [CLAIMS, POD_LEVEL]),
        ({"resourceClaims": [], "resources": {"requests": {}}}, []),
        ({"initContainers": [sidecar({}), sidecar(GPU, "OnFailure"), sidecar(None)]}, []),
        ({"containers": [{"name": "c", "image": "i", "resources": GPU}]}, []),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_what_kueue_does_not_see(kind: str, fields: Any, says: list[str]) -> None:
    spec = {**POD["spec"], **fields}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    template, path = {
        "Pod": ({**POD, "spec": spec}, "template.spec"),
        "Job": ({**job, "spec": {"template": {"spec": spec}}}, "template.spec.template.spec"),
    }[kind]
    found = warnings_of(appwrapper(component(template)))
    assert found == [f"spec.components[0].{path}.{text}" for text in says]
