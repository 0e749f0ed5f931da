"""The operators' roles, webhooks, configuration and files, as they are fitted to this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.installers.manifests import HostWebhook
from localcluster.installers.operators import (
    OPERATORS,
    OperatorWebhooks,
    settings,
    webhooks,
)

SHIPPED = """
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vset.kb.io
  clientConfig: {service: {path: /set}}
- name: vpod.kb.io
  clientConfig: {service: {path: /pod}}
"""
SERVER = HostWebhook("some-system", "webhook", 20443, b"PEM")


@pytest.fixture
def hooks(tmp_path: Path) -> OperatorWebhooks:
    (tmp_path / "manifests.yaml").write_text(SHIPPED)
    return OperatorWebhooks(path="manifests.yaml", service="webhook", example={}, pods_with="a/set")


def test_pod_webhooks_see_the_pods_of_the_operators_kind_only(
    tmp_path: Path, hooks: OperatorWebhooks
) -> None:
    (made,) = webhooks(hooks, "some-", tmp_path, SERVER)
    assert made["metadata"] == {"name": "some-validating-webhook-configuration"}
    sets, pods = made["webhooks"]
    assert "objectSelector" not in sets
    assert pods["objectSelector"] == {"matchExpressions": [{"key": "a/set", "operator": "Exists"}]}


def test_a_configuration_may_have_its_own_name_and_keep_some_webhooks(
    tmp_path: Path, hooks: OperatorWebhooks
) -> None:
    own = replace(hooks, name="validator.example", keep=("vset.kb.io",), pods_with="")
    (made,) = webhooks(own, "some-", tmp_path, SERVER)
    assert made["metadata"] == {"name": "validator.example"}
    assert [each["name"] for each in made["webhooks"]] == ["vset.kb.io"]


def test_the_settings_differ_from_the_modules_outside_a_pod() -> None:
    default = {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": True},
        "gangSchedulingManagement": {"schedulerProvider": "volcano"},
    }
    assert settings(default, 20443, Path("/cluster/tls"), "127.0.0.1:20081") == {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "gangSchedulingManagement": {"schedulerProvider": "volcano"},
        "health": {"healthProbeBindAddress": "127.0.0.1:20081"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": 20443, "certDir": "/cluster/tls"},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }


def test_kubeflow_trainer_reads_its_certificate_below_its_scratch_folder() -> None:
    default = {"certManagement": {"enable": True}, "webhook": {"port": 9443}}
    changed = settings(default, 20443, Path("/cluster/tls"), "127.0.0.1:20081")
    assert changed["certManagement"] == {"enable": False}
    assert changed["webhook"] == {"host": "127.0.0.1", "port": 20443}
    assert "internalCertManagement" not in changed


def test_cert_managers_role_is_bound_to_its_account_and_grants_nothing_by_wildcard() -> None:
    operator = OPERATORS["cert-manager"]
    role, binding = operator.own_roles
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": operator.account, "namespace": operator.namespace}
    ]
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    [rule] = [
        each for each in role["rules"] if each["apiGroups"] == ["admissionregistration.k8s.io"]
    ]
    assert rule["verbs"] == ["get", "list", "watch", "update", "patch"]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_placeholder_of_an_operator_has_a_value(name: str) -> None:
    operator = OPERATORS[name]
    values = dict.fromkeys(("health", "health_port", "kubeconfig"), "x")
    if operator.webhooks is not None:
        values["webhook_port"] = "x"
    if operator.settings:
        values["settings"] = "x"
    for each in (*operator.arguments, *operator.environment.values()):
        assert "{" not in each.format(**values)
