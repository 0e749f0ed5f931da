"""Which policies there are, and whom they leave alone. What they refuse is shown on a real cluster,
whose API server alone evaluates them: tests/integration/shared/test_policies.py.
"""

import json
from typing import Any

import pytest
import yaml

from shared.api.objects import JsonObject
from shared.config.configuration import Configuration
from shared.config.loading import parse_config
from shared.kinds.table import KINDS
from webhook.policies import policies, policies_yaml

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
ACCOUNT = "system:serviceaccount"


def made(text: str = "{}") -> dict[str, dict[str, JsonObject]]:
    """By Kind and name."""
    found: dict[str, dict[str, JsonObject]] = {POLICY: {}, BINDING: {}}
    for each in policies(parse_config(text).config):
        found[each["kind"]][each["metadata"]["name"]] = each
    return found


def test_policies_are_few_and_carry_the_products_label() -> None:
    found = made()
    assert list(found[POLICY]) == ["appwrapper-counted", "appwrapper-scale", "appwrapper-deletion"]
    for kinds in found.values():
        for each in kinds.values():
            assert each["apiVersion"] == "admissionregistration.k8s.io/v1"
            assert each["metadata"]["labels"] == {
                "app.kubernetes.io/name": "appwrapper",
                "app.kubernetes.io/component": "policy",
            }


def test_they_refuse_in_team_namespaces_and_fail_closed() -> None:
    found = made("appwrapper: {teamNamespaceSelector: {matchLabels: {team: x}}}")
    assert {each["spec"]["failurePolicy"] for each in found[POLICY].values()} == {"Fail"}
    bound = set()
    for each in found[BINDING].values():
        spec = each["spec"]
        bound.add(spec["policyName"])
        assert spec["validationActions"] == ["Deny"]
        assert spec["matchResources"]["namespaceSelector"] == {"matchLabels": {"team": "x"}}
    assert bound == set(found[POLICY])


def test_no_policy_matches_a_status() -> None:
    """Kubelets and operators write them all the time."""
    rules = {
        name: [
            (rule["operations"], rule["resources"])
            for rule in each["spec"]["matchConstraints"]["resourceRules"]
        ]
        for name, each in made()[POLICY].items()
    }
    assert rules == {
        "appwrapper-counted": [(["UPDATE"], ["*", "pods/resize"])],
        "appwrapper-scale": [(["UPDATE"], ["*/scale"])],
        "appwrapper-deletion": [(["CREATE", "UPDATE", "DELETE"], ["*", "pods/eviction"])],
    }


SELECTORS: dict[str, list[dict[str, Any]]] = {
    "wrapped": [{"key": "workload.codeflare.dev/appwrapper", "operator": "Exists"}],
    "queued": [
        {"key": "workload.codeflare.dev/appwrapper", "operator": "DoesNotExist"},
        {"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"},
    ],
    "others": [
        {"key": "workload.codeflare.dev/appwrapper", "operator": "DoesNotExist"},
        {"key": "kueue.x-k8s.io/queue-name", "operator": "DoesNotExist"},
    ],
}


@pytest.mark.parametrize("policy", ["appwrapper-counted", "appwrapper-deletion"])
def test_labelled_objects_and_objects_with_pods_are_matched(policy: str) -> None:
    bindings = made()[BINDING]
    for name, selector in SELECTORS.items():
        matched = bindings[f"{policy}-{name}"]["spec"]["matchResources"]
        assert matched["objectSelector"]["matchExpressions"] == selector
        assert ("resourceRules" in matched) == (name == "others")
    rules = bindings[f"{policy}-others"]["spec"]["matchResources"]["resourceRules"]
    named = {(rule["apiGroups"][0], plural) for rule in rules for plural in rule["resources"]}
    expected = {
        (kind.resource.group, kind.resource.plural) for kind in KINDS if kind.pod_sets is not None
    }
    expected |= {("apps", "replicasets"), ("", "pods/resize"), ("", "pods/eviction")}
    if policy == "appwrapper-deletion":
        expected.add(("workload.codeflare.dev", "appwrappers"))
    assert named == expected


def condition(policy: str, text: str = "{}") -> str:
    (only,) = made(text)[POLICY][policy]["spec"]["matchConditions"]
    expression: str = only["expression"]
    return expression


CONFIGURED = json.dumps(
    {
        "appwrapper": {
            "exemptions": {"quotaManagers": ["o'brien"], "serviceAccountNamespaces": ["ops"]}
        },
        "certManagement": {"namespace": "ours"},
    }
)
PLATFORM = (
    "(!('system:nodes' in request.userInfo.groups)) && "
    "(!(request.userInfo.username in ['system:apiserver', 'system:cloud-controller-manager', "
    "'system:kube-controller-manager', 'system:kube-scheduler', 'o\\U00000027brien', "
    f"'{ACCOUNT}:ours:appwrapper-controller', '{ACCOUNT}:ours:appwrapper-webhook'])) && "
    f"(request.userInfo.username == '{ACCOUNT}:kube-system:horizontal-pod-autoscaler' || "
    f"!['{ACCOUNT}:kube-system:', '{ACCOUNT}:ops:']"
    ".exists(prefix, request.userInfo.username.startsWith(prefix))) && "
    "(!authorizer.group('*').resource('*').check('*').allowed())"
)
RESOURCE = "authorizer.group(request.resource.group).resource(request.resource.resource)"
OPERATORS = (
    f" && (!(request.userInfo.username.startsWith('{ACCOUNT}:') && "
    f"({RESOURCE}.check(request.operation.lowerAscii()).allowed() || "
    f"{RESOURCE}.check('patch').allowed())))"
)


def test_whom_they_leave_alone_with_the_costly_checks_last() -> None:
    assert condition("appwrapper-scale", CONFIGURED) == PLATFORM
    for policy in ("appwrapper-counted", "appwrapper-deletion"):
        assert condition(policy, CONFIGURED).endswith(PLATFORM + OPERATORS)


def test_a_deletion_is_first_checked_for_its_propagation() -> None:
    """Nearly none is by orphaning, so nearly none costs more than that."""
    assert condition("appwrapper-deletion").startswith("((request.operation == 'DELETE' && has(")


def test_objects_without_pods_are_not_matched() -> None:
    for policy in ("appwrapper-counted", "appwrapper-deletion"):
        for kind in ("/PersistentVolumeClaim", "/Service", "/ConfigMap"):
            assert f"'{kind}'" in condition(policy)
    assert "'workload.codeflare.dev/AppWrapper'" in condition("appwrapper-counted")


def test_every_refusal_names_the_next_step() -> None:
    for each in made()[POLICY].values():
        for validation in each["spec"]["validations"]:
            assert validation["reason"] == "Forbidden"
            assert ". " in validation["message"]


def test_the_shipped_file_has_the_same_policies() -> None:
    config = Configuration()
    assert list(yaml.safe_load_all(policies_yaml(config))) == list(policies(config))
