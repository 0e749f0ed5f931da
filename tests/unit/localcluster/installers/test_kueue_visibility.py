"""Kueue's visibility server, as the API server finds it on this machine."""

from pathlib import Path

import pytest

from localcluster.installers.kueue_visibility import documents, is_offered, rights, settings

API_SERVICE = """
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1beta2.visibility.kueue.x-k8s.io
spec:
  group: visibility.kueue.x-k8s.io
  insecureSkipTLSVerify: true
  service:
    name: visibility-server
    namespace: kueue-system
"""


@pytest.mark.parametrize(
    ("types", "offered"),
    [
        ('VisibilityServer *Visibility `json:"visibilityServer,omitempty"`', True),
        ('Metrics Metrics `json:"metrics,omitempty"`', False),
        (None, False),
    ],
)
def test_it_is_there_where_its_port_can_be_chosen(
    tmp_path: Path, types: str | None, offered: bool
) -> None:
    if types is not None:
        folder = tmp_path / "apis" / "config" / "v1beta2"
        folder.mkdir(parents=True)
        (folder / "configuration_types.go").write_text(types)
    assert is_offered(tmp_path) is offered


def test_it_listens_on_this_machine_only() -> None:
    assert settings(20082) == {"visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": 20082}}


def test_the_api_server_asks_it_on_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "components" / "visibility"
    folder.mkdir(parents=True)
    (folder / "apiservice_v1beta2.yaml").write_text(API_SERVICE)
    (folder / "service.yaml").write_text("kind: Service\n")
    service, api_service = documents(tmp_path, 20082)
    assert service["spec"] == {"type": "ExternalName", "externalName": "localhost"}
    assert api_service["spec"] == {
        "group": "visibility.kueue.x-k8s.io",
        "insecureSkipTLSVerify": True,
        "service": {
            "name": service["metadata"]["name"],
            "namespace": service["metadata"]["namespace"],
            "port": 20082,
        },
    }


def test_it_may_read_whom_to_trust_as_the_api_server() -> None:
    (binding,) = rights("kueue-controller-manager")
    assert binding["metadata"]["namespace"] == "kube-system"
    assert binding["roleRef"]["name"] == "extension-apiserver-authentication-reader"
    assert binding["subjects"] == [
        {
            "kind": "ServiceAccount",
            "name": "kueue-controller-manager",
            "namespace": "kueue-system",
        }
    ]
