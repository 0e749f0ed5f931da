"""Whom the API server does not ask about. It compiles them in tests/integration."""

import pytest

from shared.config.configuration import AllowedKinds, Exemptions
from webhook.registration import (
    on_appwrappers,
    on_direct_kinds,
    on_left_pods,
    on_queueless_direct_kinds,
)

ACCOUNT = "system:serviceaccount"
CONTROLLER = f"{ACCOUNT}:appwrapper-system:appwrapper-controller"
KUEUE = f"{ACCOUNT}:kueue-system:kueue-controller-manager"
FEW = Exemptions(quota_managers=(KUEUE, "o'brien\\"), service_account_namespaces=("kubeflow",))
NONE = Exemptions(quota_managers=(), service_account_namespaces=())


def test_no_finalizer_no_start_and_no_preemption_waits() -> None:
    assert on_appwrappers(CONTROLLER, FEW) == [
        {
            "name": "not-being-deleted",
            "expression": "request.operation == 'CREATE' || "
            "!has(oldObject.metadata.deletionTimestamp)",
        },
        {
            "name": "not-updated-by-the-controller",
            "expression": "request.operation == 'CREATE' || "
            f"!(request.userInfo.username in ['{CONTROLLER}'])",
        },
        {
            "name": "not-updated-by-quota-managers",
            "expression": "request.operation == 'CREATE' || "
            f"!(request.userInfo.username in ['{KUEUE}', 'o\\U00000027brien\\U0000005c'])",
        },
    ]


def test_without_quota_managers_no_user_is_exempt_as_one() -> None:
    names = [one["name"] for one in on_appwrappers(CONTROLLER, NONE)]
    assert names == ["not-being-deleted", "not-updated-by-the-controller"]


IDENTITIES = (
    "(!('system:nodes' in request.userInfo.groups)) && "
    "(!(request.userInfo.username in ['system:apiserver', 'system:cloud-controller-manager', "
    "'system:kube-controller-manager', 'system:kube-scheduler'])) && "
    f"(!['{ACCOUNT}:kube-system:', '{ACCOUNT}:kubeflow:']"
    ".exists(prefix, request.userInfo.username.startsWith(prefix))) && "
    "(!authorizer.group('*').resource('*').check('*').allowed())"
)


def test_match_conditions_of_directly_created_objects() -> None:
    """Events first: most of what is created in a busy namespace are events."""
    assert on_direct_kinds(AllowedKinds(), FEW) == [
        {
            "name": "users-and-what-may-hold-pods",
            "expression": "(!(request.resource.group in ['', 'events.k8s.io'] && "
            "request.resource.resource == 'events')) && "
            "(!(request.resource.group in ['coordination.k8s.io', 'authorization.k8s.io', "
            "'authorization.openshift.io'])) && "
            "(!(request.kind.group + '/' + request.kind.kind in "
            "['workload.codeflare.dev/AppWrapper', '/ConfigMap', '/PersistentVolumeClaim', "
            f"'/Secret', '/Service', 'scheduling.x-k8s.io/PodGroup'])) && {IDENTITIES}",
        }
    ]


@pytest.mark.parametrize(
    ("direct", "spared"),
    [
        (("Pod", "batch/Job", "example.com/Unheard"), ""),
        (("Pod", "Secret"), ", '/Secret'"),
        (("apps/Secret", "policy/PodDisruptionBudget"), ", 'policy/PodDisruptionBudget'"),
    ],
)
def test_only_what_is_allowed_and_known_to_hold_no_pods_is_spared(
    direct: tuple[str, ...], spared: str
) -> None:
    (condition,) = on_direct_kinds(AllowedKinds(direct=direct), FEW)
    expected = f"in ['workload.codeflare.dev/AppWrapper'{spared}])"
    assert f"(!(request.kind.group + '/' + request.kind.kind {expected})" in condition["expression"]


def test_a_queue_name_is_asked_for_only_where_there_is_none() -> None:
    key = "'kueue.x-k8s.io/queue-name'"
    assert on_queueless_direct_kinds(FEW) == [
        {
            "name": "users-without-a-queue",
            "expression": "(!has(object.metadata.labels) || "
            f"!({key} in object.metadata.labels) || object.metadata.labels[{key}] == '') && "
            "(!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences"
            ".exists(owner, has(owner.controller) && owner.controller)) && "
            f"{IDENTITIES}",
        }
    ]


def test_left_pods_are_matched_only_without_an_own_policy() -> None:
    """`has` fails, and the request with it, where what is asked about has no parent."""
    path = "template.spec.runPolicy.cleanPodPolicy"
    assert on_left_pods([path, path], FEW) == [
        {
            "name": "users-who-leave-pods",
            "expression": "(!has(object.spec) || !has(object.spec.runPolicy) || "
            f"!has(object.spec.runPolicy.cleanPodPolicy)) && {IDENTITIES}",
        }
    ]
