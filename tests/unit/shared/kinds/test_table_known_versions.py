import pytest

from shared.kinds.table import known_versions


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
