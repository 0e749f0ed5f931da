"""What Kueue's configuration proves of a namespace, and what it does not."""

import pytest
import yaml

from shared.api.objects import JsonObject
from shared.waits.kueue_settings import KEY, namespaces, unmanaged_because

LABEL = "mlbatch-team-namespace"


INTEGRATED = {"frameworks": ["batch/job", "workload.codeflare.dev/appwrapper"]}
LACKS = "integrations.frameworks of Kueue's configuration lacks workload.codeflare.dev/appwrapper"


def settings(**content: object) -> JsonObject:
    return {"data": {KEY: yaml.safe_dump({"integrations": INTEGRATED, **content})}}


def namespace(name: str = "team1", **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}}


SELECTOR = {"matchLabels": {LABEL: "true"}}


@pytest.mark.parametrize(
    ("config", "where", "why"),
    [
        (None, namespace(), ""),
        ({"data": {}}, namespace(), ""),
        ({"data": {KEY: "{"}}, namespace(), ""),
        (settings(), namespace(), ""),
        (settings(), namespace("kube-system"), "Kueue manages no jobs in namespace kube-system"),
        (settings(), namespace("kueue-system"), "Kueue manages no jobs in namespace kueue-system"),
        (
            settings() | {"metadata": {"namespace": "mlbatch-system"}},
            namespace("mlbatch-system"),
            "Kueue manages no jobs in namespace mlbatch-system",
        ),
        (
            settings() | {"metadata": {"namespace": "mlbatch-system"}},
            namespace("kueue-system"),
            "",
        ),
        (settings(managedJobsNamespaceSelector=SELECTOR), None, ""),
        (settings(managedJobsNamespaceSelector=SELECTOR), namespace(**{LABEL: "true"}), ""),
        (
            settings(managedJobsNamespaceSelector=SELECTOR),
            namespace(),
            "namespace team1 does not match Kueue's managedJobsNamespaceSelector, which asks for"
            f" the labels {LABEL}=true",
        ),
        (
            settings(
                managedJobsNamespaceSelector={
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "NotIn",
                            "values": ["kube-system", "kueue-system"],
                        }
                    ]
                }
            ),
            namespace(),
            "",
        ),
        (
            settings(
                managedJobsNamespaceSelector={
                    "matchExpressions": [{"key": LABEL, "operator": "Exists"}]
                }
            ),
            namespace(),
            "namespace team1 does not match Kueue's managedJobsNamespaceSelector, which asks for"
            f" the labels {LABEL} Exists",
        ),
        (settings(managedJobsNamespaceSelector="everything"), namespace(), ""),
        (
            settings(
                managedJobsNamespaceSelector={
                    "matchExpressions": [{"key": LABEL, "operator": "In", "values": ["a", "b"]}]
                }
            ),
            namespace(),
            "namespace team1 does not match Kueue's managedJobsNamespaceSelector, which asks for"
            f" the labels {LABEL} In (a, b)",
        ),
        (settings(integrations={"frameworks": ["batch/job"]}), None, LACKS),
        (settings(integrations={}), namespace(), LACKS),  # Kueue then takes Jobs only
        (settings(integrations=None), namespace(), LACKS),
        (settings(integrations={"externalFrameworks": ["AppWrapper.v1beta2.x"]}), None, ""),
        (settings(integrations=["batch/job"]), None, ""),
        (settings(integrations={"frameworks": "all"}), None, ""),
        ({"data": {KEY: "x: 2026-13-01"}}, namespace(), ""),
        (
            {"data": {KEY: "managedJobsNamespaceSelector: {matchLabels: {a: 2026-01-01}}"}},
            namespace(),
            "namespace team1 does not match Kueue's managedJobsNamespaceSelector, which asks for"
            " the labels a=2026-01-01",
        ),
    ],
)
def test_the_settings_prove_that_kueue_ignores_a_namespace(
    config: object, where: object, why: str
) -> None:
    assert unmanaged_because(config, where) == why


@pytest.mark.parametrize(
    ("managers", "found"),
    [
        ((), ("kueue-system",)),
        (("alice", "system:serviceaccounts:a"), ("kueue-system",)),
        (("system:serviceaccount:kueue-system:kueue-controller-manager",), ("kueue-system",)),
        (
            (
                "system:serviceaccount:b:kueue",
                "alice",
                "system:serviceaccount:a:x",
                "system:serviceaccount:b:y",
            ),
            ("b", "a", "kueue-system"),
        ),
    ],
)
def test_kueue_is_looked_for_in_the_namespaces_of_its_service_accounts_first(
    managers: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert namespaces(managers) == found
