"""Read the installation for `appwrapper check --install`. I/O only; the one write is a dry run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import resources
from typing import Final

import yaml

from cli.checks.setup_facts import Activity, Installed
from cli.cluster.reader import Reader, as_they_are
from cli.cluster.unread import readable
from shared.api.names import CONTROLLER_NAME, LABEL_QUEUE_NAME, LABEL_USER
from shared.api.objects import (
    APPWRAPPERS,
    CONFIGMAPS,
    LEASES,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    NAMESPACES,
    POLICIES,
    POLICY_BINDINGS,
    SECRETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.api.times import parse_time
from shared.kinds.table import KINDS
from shared.kube.client import ApiError, Forbidden, KubeClient
from shared.kube.discovery import Discovery, UnknownKind
from shared.waits import kueue_settings

CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
DEFINITION: Final = "appwrappers.workload.codeflare.dev"
WORKLOAD_DEFINITION: Final = "workloads.kueue.x-k8s.io"
KUEUE_DEPLOYMENT: Final = "kueue-controller-manager"
# Every cluster has this namespace.
_PROBE_NAMESPACE: Final = "default"


async def gather_installation(client: KubeClient, discovery: Discovery) -> Installed:
    """Read the whole installation. Raises KubeError if the API server does not answer."""
    reader = Reader(client)
    configuration = await reader.operator_configuration()
    namespace = configuration.namespace
    served = configuration.config.cert_management
    version = await client.get_path("/version")
    kueue_namespace, kueue, kueue_config = await _kueue(reader, configuration.kueue_namespaces)

    async def every(
        what: str, resource: Resource, where: str | None = None
    ) -> tuple[JsonObject, ...] | None:
        return await reader.every(resource, as_they_are, where, what=what)

    async def one(what: str, resource: Resource, where: str | None, name: str) -> JsonObject | None:
        return readable(await reader.one(resource, where, name, what=what))

    return Installed(
        configuration=configuration,
        kubernetes=str(version.get("gitVersion") or ""),
        shipped_definition=shipped_definition(),
        definition=await one("definition", CRDS, None, DEFINITION),
        mutating=await every("mutating", MUTATING_WEBHOOK_CONFIGURATIONS),
        validating=await every("validating", VALIDATING_WEBHOOK_CONFIGURATIONS),
        policies=await every("policies", POLICIES),
        bindings=await every("bindings", POLICY_BINDINGS),
        secret=await one("secret", SECRETS, namespace, served.webhook_secret_name),
        webhook=await one("webhook", DEPLOYMENTS, namespace, "appwrapper-webhook"),
        controller=await one("controller", DEPLOYMENTS, namespace, "appwrapper-controller"),
        leases=await every("leases", LEASES, namespace),
        answer=await _answer(reader),
        activity=await _activity(reader),
        kueue_namespace=kueue_namespace,
        kueue=kueue,
        kueue_config=kueue_config,
        workload_definition=await one("workload_definition", CRDS, None, WORKLOAD_DEFINITION),
        namespaces=await every("namespaces", NAMESPACES),
        served=await _served(discovery),
        refused={each.what: each.why for each in reader.unread},
    )


async def _kueue(
    reader: Reader, namespaces: Sequence[str]
) -> tuple[str, JsonObject | None, JsonObject | None]:
    """Return Kueue's namespace, Deployment and configuration.

    That is the first namespace that has one of both, or may not be read. If none has, the first.
    """
    for namespace in namespaces:
        before = len(reader.unread)
        deployment = await reader.one(DEPLOYMENTS, namespace, KUEUE_DEPLOYMENT, what="kueue")
        config = await reader.one(CONFIGMAPS, namespace, kueue_settings.NAME, what="kueue_config")
        if deployment or config or len(reader.unread) > before:
            return namespace, readable(deployment), readable(config)
    return namespaces[0], None, None


def shipped_definition() -> JsonObject:
    """Return the CRD that ships with this command."""
    text = (resources.files("cli.checks") / f"{DEFINITION}.yaml").read_text()
    found: JsonObject = yaml.safe_load(text)
    return found


async def _answer(reader: Reader) -> str:
    """Create a small AppWrapper by a dry run. Return what failed, "" if the webhook labelled it."""
    body: JsonObject = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        # A team's namespace may require a queue.
        "metadata": {
            "generateName": "appwrapper-check-",
            "labels": {LABEL_QUEUE_NAME: "appwrapper-check"},
        },
        "spec": {"components": [{"template": _pod()}]},
    }
    try:
        made = await reader.client.create(APPWRAPPERS, _PROBE_NAMESPACE, body, dry_run=True)
    except Forbidden as error:
        reader.note("answer", error, str(error))
        return ""
    except ApiError as error:
        return str(error)
    labels = made["metadata"].get("labels") or {}
    return (
        ""
        if LABEL_USER in labels
        else "it set no label with the user's name, so the API server did not call it"
    )


def _pod() -> JsonObject:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "appwrapper-check"},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


async def _activity(reader: Reader) -> Activity | None:
    found = await reader.projected(APPWRAPPERS, _traces, what="activity")
    if not isinstance(found, tuple):
        return None
    writes = [moment for moment, _ in found if moment is not None]
    unseen = tuple(each for _, each in found if each is not None)
    return Activity(max(writes, default=None), unseen)


def _traces(
    page: list[JsonObject],
) -> Iterable[tuple[datetime | None, tuple[str, datetime] | None]]:
    """Yield for each AppWrapper that the controller manages: the last write of its status, and its
    name and creation if it has no phase yet.
    """
    for item in page:
        if (item.get("spec") or {}).get("managedBy") not in (None, "", CONTROLLER_NAME):
            continue
        metadata = item["metadata"]
        times = [
            parse_time(each["time"])
            for each in metadata.get("managedFields") or ()
            if each.get("subresource") == "status" and each.get("time")
        ]
        name = f"{metadata['namespace']}/{metadata['name']}"
        has_status = bool((item.get("status") or {}).get("phase"))
        made = parse_time(metadata["creationTimestamp"])
        yield max(times, default=None), None if has_status else (name, made)


async def _served(discovery: Discovery) -> frozenset[str]:
    found = set()
    for kind in KINDS:
        try:
            await discovery.resource_for(kind.resource.gvk)
        except UnknownKind:
            continue
        found.add(kind.group_kind)
    return frozenset(found)
