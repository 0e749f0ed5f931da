"""Each operator runs under its module's rights, and is asked about its own Kind's objects alone."""

import pytest

from localcluster.cluster import LocalCluster
from localcluster.installers.operators import OPERATORS
from shared.api.objects import Resource
from tests.support.cluster.answers import is_admin
from tests.support.cluster.life import listed

pytestmark = pytest.mark.long

CONFIGURATIONS = [
    Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for plural, kind in (
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    )
]


@pytest.mark.parametrize("name", ["leaderworkerset", "mpi-operator"])
async def test_they_are_no_cluster_admins(operated: LocalCluster, name: str) -> None:
    operator = OPERATORS[name]
    assert not await is_admin(operated.client, operator.namespace, operator.account)


async def test_no_webhook_is_called_for_every_pod(operated: LocalCluster) -> None:
    asked = {}
    for configuration in CONFIGURATIONS:
        for each in await listed(operated.client, configuration, None):
            for webhook in each.get("webhooks") or ():
                if any("pods" in rule["resources"] for rule in webhook["rules"]):
                    selector = webhook["objectSelector"].get("matchExpressions") or ()
                    name = f"{each['metadata']['name']} {webhook['name']}"
                    asked[name] = [expression["key"] for expression in selector]
    asked = {name: keys for name, keys in asked.items() if not name.startswith("appwrapper-")}
    assert asked == {
        "jobset-mutating-webhook-configuration mpod.kb.io": ["jobset.sigs.k8s.io/jobset-name"],
        "jobset-validating-webhook-configuration vpod.kb.io": ["jobset.sigs.k8s.io/jobset-name"],
        "lws-mutating-webhook-configuration mpod.kb.io": ["leaderworkerset.sigs.k8s.io/name"],
        "lws-validating-webhook-configuration vpod.kb.io": ["leaderworkerset.sigs.k8s.io/name"],
    }
