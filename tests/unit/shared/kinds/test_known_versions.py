import pytest

from shared.api.objects import JsonObject
from shared.kinds.kind import PodSet
from shared.kinds.table import known_versions, pod_sets_in_known_version


@pytest.mark.parametrize(
    ("api_version", "kind", "versions"),
    [
        ("ray.io/v1alpha1", "RayCluster", ["ray.io/v1"]),
        ("kubeflow.org/v2", "MPIJob", ["kubeflow.org/v1", "kubeflow.org/v2beta1"]),
        ("v2", "Pod", ["v1"]),
        ("ray.io/v1", "RayCluster", []),
        ("kubeflow.org/v2beta1", "MPIJob", []),
        ("v1", "Pod", []),
        ("/v1", "Pod", []),
        ("example.org/v1", "RayCluster", []),
        ("v1", "Service", []),
        (7, None, []),
    ],
)
def test_a_kind_in_an_unknown_version_has_others_to_choose_from(
    api_version: object, kind: object, versions: list[str]
) -> None:
    assert known_versions({"apiVersion": api_version, "kind": kind}) == versions


def test_an_object_of_another_version_is_read_as_in_the_known_one() -> None:
    template: JsonObject = {"spec": {"containers": []}}
    group = {"replicas": 4, "template": template}
    spec = {"headGroupSpec": {"template": template}, "workerGroupSpecs": [group]}
    cluster = {"apiVersion": "ray.io/v1alpha1", "kind": "RayCluster", "spec": spec}
    paths = ("template.spec.headGroupSpec.template", "template.spec.workerGroupSpecs[0].template")
    expected = (PodSet(paths[0]), PodSet(paths[1], 4))
    assert pod_sets_in_known_version(cluster) == expected
    assert pod_sets_in_known_version({**cluster, "spec": {"head": template}}) == ()
    assert pod_sets_in_known_version({**cluster, "apiVersion": "ray.io/v1"}) == ()
