"""Probes whether a program is ready, over HTTP or with a dry-run create; and whether a node is."""

import ssl

import aiohttp

from localcluster.access.certificates import KeyPairFiles
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import Probe
from shared.api.objects import JsonObject, Resource
from shared.kube.client import AlreadyExists, Forbidden, Invalid, KubeClient, KubeError

_NOT_READY = "node.kubernetes.io/not-ready"
_PATIENCE = aiohttp.ClientTimeout(total=stretched(10.0))


def trusting(authority: str, client: KeyPairFiles | None = None) -> ssl.SSLContext:
    """Returns a TLS context that trusts `authority`, a file, and presents `client`."""
    context = ssl.create_default_context(cafile=authority)
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context


def unverified() -> ssl.SSLContext:
    """Returns a TLS context for a program on this machine with a self-made certificate."""
    # Not the default context: it would read all of the machine's authorities.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def http_ok(url: str, tls: ssl.SSLContext | None = None) -> Probe:
    """Returns a probe that is ready when a GET of `url` answers 200."""

    async def ask() -> str | None:
        try:
            async with (
                aiohttp.ClientSession(timeout=_PATIENCE, trust_env=False) as session,
                session.get(url, ssl=tls or True) as response,
            ):
                if response.status == 200:
                    return None
                return f"GET {url} answers {response.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            return f"GET {url} fails: {failure or type(failure).__name__}"

    return ask


def admits(client: KubeClient, resource: Resource, document: JsonObject) -> Probe:
    """Returns a probe that is ready when a dry-run create of `document` is allowed or denied."""

    async def ask() -> str | None:
        namespace = document["metadata"].get("namespace")
        try:
            await client.create(resource, namespace, document, dry_run=True)
        except (AlreadyExists, Invalid, Forbidden):
            return None
        except KubeError as failure:
            return f"a dry-run create of a {resource.kind} fails: {failure}"
        return None

    return ask


def both(first: Probe, second: Probe) -> Probe:
    """Returns a probe that is ready when both are; it calls the second only once the first is."""

    async def ask() -> str | None:
        return await first() or await second()

    return ask


def node_is_ready(node: JsonObject) -> bool:
    """True if the node is Ready and has no taint `not-ready`."""
    taints = {taint["key"] for taint in node["spec"].get("taints", ())}
    conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and _NOT_READY not in taints
