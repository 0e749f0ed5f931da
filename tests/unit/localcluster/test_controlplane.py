"""What the API server is told of who can reach it."""

from pathlib import Path

import pytest

from localcluster.access.certificates import KeyPairFiles
from localcluster.controlplane import ApiServerReach, kubelet_access

CLIENT = KeyPairFiles(Path("/certificates/kubelet.crt"), Path("/certificates/kubelet.key"))


def test_only_this_machine_reaches_it_by_default() -> None:
    assert ApiServerReach().flags(CLIENT) == (
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        "--endpoint-reconciler-type=none",
    )


def test_pods_reach_it_at_one_address_and_it_reaches_kubelets() -> None:
    assert ApiServerReach("198.18.3.1", "198.19.3.0/24", nodes=True).flags(CLIENT) == (
        "--bind-address=198.18.3.1",
        "--advertise-address=198.18.3.1",
        "--service-cluster-ip-range=198.19.3.0/24",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-client-certificate=/certificates/kubelet.crt",
        "--kubelet-client-key=/certificates/kubelet.key",
        "--kubelet-preferred-address-types=InternalIP",
    )


@pytest.mark.parametrize(
    ("services", "first"), [("10.96.0.0/16", "10.96.0.1"), ("198.19.3.0/24", "198.19.3.1")]
)
def test_pods_know_it_by_the_first_address_of_services(services: str, first: str) -> None:
    assert ApiServerReach(services=services).first_service == first


def test_it_has_the_kubelet_rights_of_its_certificate() -> None:
    group = "rbac.authorization.k8s.io"
    assert kubelet_access() == {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kube-apiserver-kubelet-client"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "kube-apiserver-kubelet-client"}],
    }
