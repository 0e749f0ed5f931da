"""What the test cluster's cert-manager may do."""

from localcluster.installers.cert_manager import ACCOUNT, NAMESPACE, rights


def test_its_role_is_bound_to_its_account_and_grants_nothing_by_wildcard() -> None:
    role, binding = rights()
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    ]
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


def test_it_creates_no_webhook_configuration() -> None:
    role, _ = rights()
    [rule] = [
        each for each in role["rules"] if each["apiGroups"] == ["admissionregistration.k8s.io"]
    ]
    assert rule["verbs"] == ["get", "list", "watch", "update", "patch"]
