import pytest

from shared.config.configuration import Exemptions
from webhook.admission_review import User
from webhook.rules.user import (
    exempt_namespaces,
    is_platform,
    service_account_namespace,
)

ONLY_KUBEFLOW = Exemptions(service_account_namespaces=("kubeflow",))


@pytest.mark.parametrize(
    ("user", "exempt"),
    [
        (User("system:node:n1", "", ("system:nodes", "system:authenticated")), True),
        (User("system:node:n1", "", ("system:authenticated",)), False),
        (User("system:kube-scheduler", ""), True),
        (User("system:kube-controller-manager", ""), True),
        (User("system:apiserver", ""), True),
        (User("system:kube-proxy", ""), False),
        (User("system:serviceaccount:kubeflow:training-operator", ""), True),
        (User("system:serviceaccount:kube-system:job-controller", ""), True),
        (User("system:serviceaccount:kubeflow2:training-operator", ""), False),
        (User("system:serviceaccount:team1:kubeflow", ""), False),
        (User("kubeflow", ""), False),
        (User("alice", "", ("team1-edit-group",)), False),
    ],
)
def test_who_belongs_to_the_platform(user: User, exempt: bool) -> None:
    assert is_platform(user, ONLY_KUBEFLOW) is exempt


def test_service_accounts_of_kube_system_always_do() -> None:
    assert exempt_namespaces(Exemptions(service_account_namespaces=())) == ("kube-system",)
    listed = Exemptions(service_account_namespaces=("kubeflow", "kube-system"))
    assert exempt_namespaces(listed) == ("kube-system", "kubeflow")


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("system:serviceaccount:team1:default", "team1"),
        ("system:serviceaccount:team1:", None),
        ("system:serviceaccount::default", None),
        ("system:serviceaccount:team1", None),
        ("system:serviceaccounts:team1:default", None),
        ("alice", None),
        ("", None),
    ],
)
def test_the_namespace_of_a_service_account(name: str, namespace: str | None) -> None:
    assert service_account_namespace(User(name, "")) == namespace
