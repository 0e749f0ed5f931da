"""Runs Kueue as a process on this machine, under its own ServiceAccount and its module's roles.

`rotated_certificate` explains its certificate, which must exist before the start. The cluster's
components decide which Kinds it queues.
"""

from pathlib import Path

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import admits, both, http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import kueue_visibility, manifests
from localcluster.installers.manifests import HostWebhook
from localcluster.installers.operators import OPERATORS
from localcluster.installers.rotated_certificate import RotatedCertificate
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import still_missing
from shared.api.objects import JsonObject, Resource
from shared.config.configuration import AppWrapperConfig
from shared.config.kueue import wait_for_pods_ready
from shared.kube.client import NotFound
from shared.process.clock import SystemClock

NAMESPACE = "kueue-system"
ACCOUNT = "kueue-controller-manager"
_PREFIX = "kueue-"
_SERVICE, _SECRET, _AUTHORITY = "kueue-webhook-service", "kueue-webhook-server-cert", "kueue-ca"
_GROUP = "kueue.x-k8s.io"
# From 0.19 on a role of the module names them, without kustomize's prefix, and nothing else.
_WEBHOOKS = frozenset({"mutating-webhook-configuration", "validating-webhook-configuration"})
# From config/components/crd/kustomization.yaml: the CRDs that have a conversion webhook.
_CONVERTED = frozenset(
    f"{plural}.{_GROUP}"
    for plural in ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
)
_FLAVORS = Resource(_GROUP, "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
# Kinds that every cluster queues.
_FRAMEWORKS = ("batch/job", "workload.codeflare.dev/appwrapper")
_DEFINITIONS_PATIENCE_SECONDS = stretched(180.0)
_APPWRAPPER_KIND = "AppWrapper.workload.codeflare.dev"


async def install(cluster: OwnedCluster) -> None:
    """Starts Kueue; returns when its webhooks answer."""
    components = cluster.modules["kueue"] / "config" / "components"
    certificate = RotatedCertificate.make(
        _AUTHORITY, f"{_SERVICE}.{NAMESPACE}.svc", SystemClock().now()
    )
    server = HostWebhook(NAMESPACE, _SERVICE, cluster.ports.reserve(), certificate.authority)
    kinds = frameworks(cluster.options.components)
    await cluster.apply(
        [
            manifests.namespace_document(NAMESPACE),
            *definitions(components, server),
        ]
    )
    await cluster.apply(
        [
            *roles(components),
            certificate.secret(NAMESPACE, _SECRET),
            server.service_document,
            *webhooks(components, server, kinds),
            *kueue_visibility.rights(ACCOUNT),
        ]
    )
    folder = cluster.directory / "kueue"
    certificate.write_to(folder / "certificates")
    await _definitions_of_others(cluster)
    offered = kueue_visibility.is_offered(cluster.modules["kueue"])
    visibility_port = cluster.ports.reserve() if offered else None
    if offered:
        await kueue_visibility.readable_trust(cluster, ACCOUNT)
    await cluster.processes.start(
        await _process(cluster, folder, server.port, visibility_port, kinds)
    )
    if visibility_port is not None:
        await kueue_visibility.publish(cluster, visibility_port)


def roles(components: Path) -> list[JsonObject]:
    """Returns Kueue's ServiceAccount with its roles; one names the webhook configurations."""
    objects = manifests.rbac(components / "rbac", namespace=NAMESPACE, prefix=_PREFIX)
    for rule in (rule for each in objects for rule in each.get("rules") or ()):
        if _WEBHOOKS.issuperset(names := rule.get("resourceNames", [""])):
            rule["resourceNames"] = [_PREFIX + name for name in names]
    return objects


async def _definitions_of_others(cluster: OwnedCluster) -> None:
    """Waits for the CRDs that the components' own installers apply meanwhile.

    Kueue would start without them, but then wait seconds before it lists them again.
    """

    async def ask() -> str | None:
        for component in sorted(cluster.options.components & OPERATORS.keys()):
            for resource in OPERATORS[component].resources:
                try:
                    await cluster.client.get_path(f"{resource.path()}?limit=1")
                except NotFound:
                    return f"{resource.gvk.group_kind}, which {component} has not brought"
        return None

    missing = await still_missing(ask, _DEFINITIONS_PATIENCE_SECONDS)
    if missing is not None:
        raise LocalClusterError(
            f"Kueue waits for the CRD of {missing} after {_DEFINITIONS_PATIENCE_SECONDS:.0f} s."
        )


def frameworks(components: frozenset[str]) -> tuple[str, ...]:
    """Returns the integrations to enable, by Kueue's names, for a cluster with these components."""
    known = sorted(components & OPERATORS.keys())
    return (*_FRAMEWORKS, *(name for each in known for name in OPERATORS[each].frameworks))


def definitions(components: Path, server: HostWebhook) -> list[JsonObject]:
    """Returns Kueue's CRDs; `server` converts those with several versions."""
    return [
        manifests.with_conversion(each, server) if each["metadata"]["name"] in _CONVERTED else each
        for each in read_documents(components / "crd" / "bases")
    ]


def webhooks(components: Path, server: HostWebhook, kinds: tuple[str, ...]) -> list[JsonObject]:
    """Returns the two webhook configurations, for Kueue's own objects and for the Kinds it queues.

    The other webhooks would only admit every pod and Deployment.
    """
    queued = {name.rpartition("/")[2] for name in kinds}
    configurations = []
    for configuration in read_documents(components / "webhook" / "manifests.yaml"):
        wanted = [
            each["name"]
            for each in configuration["webhooks"]
            if each["rules"][0]["apiGroups"] == [_GROUP]
            or each["name"][1 : -len(".kb.io")] in queued
        ]
        name = _PREFIX + configuration["metadata"]["name"]
        configurations.append(manifests.directed_webhooks(configuration, name, server, wanted))
    return configurations


def configuration(
    default: JsonObject,
    *,
    webhook_port: int,
    certificates: Path,
    health: str,
    kinds: tuple[str, ...],
) -> JsonObject:
    """Returns the module's configuration, changed for a process outside a pod and for our teams.

    As in MLBatch, each object in a team's namespace waits until it names a queue.
    """
    own: JsonObject = {
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": health},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": webhook_port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 1000, "burst": 2000},
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchLabels": {"mlbatch-team-namespace": "true"}},
        "integrations": {"frameworks": list(kinds)},
        "waitForPodsReady": wait_for_pods_ready(AppWrapperConfig()),
    }
    # The module gives Jobs five workers and AppWrappers one: Kueue alone would delay a burst.
    workers = default.get("controller", {}).get("groupKindConcurrency", {})
    own["controller"] = {"groupKindConcurrency": workers | {_APPWRAPPER_KIND: 5}}
    return default | own


def published(text: str) -> JsonObject:
    """Returns the ConfigMap that admins and `appwrapper check --install` read."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": NAMESPACE},
        "data": {"controller_manager_config.yaml": text},
    }


async def _process(
    cluster: OwnedCluster,
    folder: Path,
    webhook_port: int,
    visibility_port: int | None,
    kinds: tuple[str, ...],
) -> ProcessSpec:
    health = f"{HOST}:{cluster.ports.reserve()}"
    manager = cluster.modules["kueue"] / "config" / "components" / "manager"
    (default,) = read_documents(manager / "controller_manager_config.yaml")
    settings = folder / "configuration.yaml"
    content = configuration(
        default,
        webhook_port=webhook_port,
        certificates=folder / "certificates",
        health=health,
        kinds=kinds,
    )
    if visibility_port is not None:
        content |= kueue_visibility.settings(visibility_port)
    text = yaml.safe_dump(content)
    settings.write_text(text)
    await cluster.apply([published(text)])
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    probe = both(
        http_ok(f"http://{health}/readyz"),
        admits(
            cluster.client,
            _FLAVORS,
            {
                "apiVersion": f"{_GROUP}/v1beta2",
                "kind": "ResourceFlavor",
                "metadata": {"name": "probe"},
            },
        ),
    )
    # An option, not KUBECONFIG: the visibility server takes its address for access reviews there.
    options = [f"--config={settings}", f"--kubeconfig={account}"]
    if visibility_port is None:
        options.append("--feature-gates=VisibilityOnDemand=false")
    return ProcessSpec(
        "kueue",
        (str(cluster.programs["kueue"]), *options),
        probe,
        address=f"http://{health}",
        folder=folder,
    )
