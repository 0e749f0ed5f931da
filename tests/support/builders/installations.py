"""Builds an installation for `appwrapper check --install`: a sound one, and its parts."""

import base64
import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from cli.checks.installation import installation_report
from cli.checks.items import Item, ItemResult
from cli.checks.read_installation import shipped_definition
from cli.checks.setup_facts import Activity, Installed
from cli.cluster.operator_configuration import OperatorConfiguration
from shared.api.names import LEASE_NAME
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time
from shared.config.configuration import Configuration
from shared.config.kueue import wait_for_pods_ready
from webhook.policies import policies
from webhook.registration import registration
from webhook.tls.issue import make_authority, new_key

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CONFIG = Configuration()
POLICIES = policies(CONFIG)
SETTINGS = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "manageJobsWithoutQueueName": True,
    "managedJobsNamespaceSelector": {"matchLabels": {"mlbatch-team-namespace": "true"}},
    "integrations": {
        "frameworks": ["workload.codeflare.dev/appwrapper", "kubeflow.org/pytorchjob"]
    },
    "waitForPodsReady": wait_for_pods_ready(CONFIG.appwrapper),
}
KUEUES_WEBHOOKS = {
    "metadata": {"name": "kueue-mutating-webhook-configuration"},
    "webhooks": [{"name": "mappwrapper.kb.io"}],
}


def certificate(life: timedelta) -> str:
    pair = make_authority("ca", "org", life, NOW, new_key())
    return base64.b64encode(pair.certificate_pem).decode()


LASTING = certificate(timedelta(days=365))


def with_bundle(item: JsonObject, bundle: str = LASTING, port: int = 443) -> JsonObject:
    """Returns the stored form: with the webhook's caBundle, and with a port."""
    stored = copy.deepcopy(item)
    for each in stored["webhooks"]:
        each["clientConfig"]["caBundle"] = bundle
        each["clientConfig"]["service"]["port"] = port
    return stored


MUTATING, VALIDATING = (with_bundle(each) for each in registration(CONFIG))


def deployment(ready: int = 1, **spec: Any) -> JsonObject:
    return {"spec": {"replicas": 1, **spec}, "status": {"readyReplicas": ready}}


def kueue(image: str, ready: int = 1, account: str = "kueue-controller-manager") -> JsonObject:
    pod = {"serviceAccountName": account, "containers": [{"image": image}]}
    return deployment(ready, template={"spec": pod})


def kueue_config(**changes: Any) -> JsonObject:
    """Builds Kueue's ConfigMap; None removes a key."""
    content = {key: value for key, value in {**SETTINGS, **changes}.items() if value is not None}
    return {"data": {"controller_manager_config.yaml": yaml.safe_dump(content)}}


def holding(pod_sets: int) -> JsonObject:
    spec = {"properties": {"podSets": {"maxItems": pod_sets}}}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}
    return {"spec": {"versions": [{"name": "v1beta2", "schema": schema}]}}


def namespace(name: str, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}}


def held(
    name: str, renewed: timedelta, holder: str = "appwrapper-controller-5f-x_1a"
) -> JsonObject:
    """Builds a Lease that was renewed so long before NOW."""
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 10,
        "acquireTime": "2026-01-01T08:00:00.123456Z",
        "renewTime": format_precise_time(NOW - renewed),
    }
    return {"metadata": {"name": name}, "spec": spec}


TEAMS_LABEL = {"mlbatch-team-namespace": "true"}
TEAM = namespace("team1", **TEAMS_LABEL, **{"pod-security.kubernetes.io/enforce": "baseline"})
SOUND = Installed(
    configuration=OperatorConfiguration(CONFIG, "appwrapper-system"),
    kubernetes="v1.37.0",
    shipped_definition=shipped_definition(),
    definition=shipped_definition(),
    mutating=(MUTATING, KUEUES_WEBHOOKS),
    validating=(VALIDATING,),
    policies=tuple(each for each in POLICIES if each["kind"] == "ValidatingAdmissionPolicy"),
    bindings=tuple(each for each in POLICIES if each["kind"] != "ValidatingAdmissionPolicy"),
    secret={"data": {"tls.crt": LASTING}},
    webhook=deployment(),
    controller=deployment(),
    leases=(held(LEASE_NAME, timedelta(seconds=2)),),
    answer="",
    activity=Activity(None, ()),
    kueue_namespace="kueue-system",
    kueue=kueue("registry.k8s.io/kueue/kueue:v0.19.2"),
    kueue_config=kueue_config(),
    workload_definition=holding(18),
    namespaces=(TEAM, namespace("default")),
    served=frozenset({"kubeflow.org/PyTorchJob"}),
    refused={},
)


def wrong(seen: Installed, verdict: ItemResult = ItemResult.WARNING) -> list[tuple[str, str]]:
    """Returns title and text of the items with this verdict. All other items must be ok."""
    found: list[Item] = [
        each for each in installation_report(seen, NOW).items if each.verdict is not ItemResult.OK
    ]
    assert {each.verdict for each in found} <= {verdict}
    return [(each.title, each.found) for each in found]
