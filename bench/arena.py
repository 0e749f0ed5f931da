"""Runs one contender at a time in one cluster.

A switch deletes the webhook configurations and policies, and waits until the API server has
noticed. It stops the old contender's processes, starts the new contender's, and registers its
webhooks. At last it waits until the API server calls them. So no measurement mixes two contenders.
"""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import yaml

from bench import objects
from bench.errors import BenchError
from bench.peer import PROCESS as PEER_PROCESS
from bench.peer import Peer
from bench.results import Contender
from localcluster.cluster import LocalCluster
from localcluster.installers import operators
from localcluster.machine.slowness import stretched
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from shared.api import names
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube.client import ApiError, KubeClient, NotFound, Propagation

_WEBHOOK = "webhook"
_CONTROLLER = "controller"
OUR_PROCESSES = (_WEBHOOK, _CONTROLLER)
CONTROLLERS = {Contender.OURS: _CONTROLLER, Contender.PEER: PEER_PROCESS}
"""The process of each operator's controller. The Go operator's contains its webhook."""
_GROUP = "admissionregistration.k8s.io"
# In the order in which they are listed: the first has the caBundle.
_CONFIGURATIONS = {
    kind: Resource(_GROUP, "v1", plural, kind, namespaced=False)
    for kind, plural in (
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    )
}
_OURS = "app.kubernetes.io/name=appwrapper"
_WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
_PATIENCE = stretched(180.0)
_PROBE_SECONDS = 0.05


class Arena:
    """`await Arena.prepare(cluster)` makes one; at first this project's operator is at work."""

    def __init__(
        self, cluster: LocalCluster, peer: Peer, ours: Sequence[JsonObject], active: Contender
    ) -> None:
        self.cluster = cluster
        self.peer = peer
        self._hooks = {Contender.OURS: list(ours), Contender.PEER: peer.webhook_configurations()}
        self._active = active

    @classmethod
    async def prepare(cls, cluster: LocalCluster) -> "Arena":
        """Builds the peer and applies what the measurements need.

        The cluster must run this project's operator. Raises LocalClusterError, BenchError.
        """
        peer = await Peer.build(cluster)
        await peer.prepare()
        # The admission reviews carry this Kind. A webhook may request its resource; no operator
        # runs it.
        operator = CATALOGUE["training-operator"]
        cache = BuildCache(default_folder(), await find_go(), cluster.reporter)
        definitions = operators.definitions(
            "training-operator", await cache.module_folder(operator)
        )
        await cluster.apply([*definitions, *objects.surroundings()])
        ours = [
            _as_applied(resource, stored)
            for resource in _CONFIGURATIONS.values()
            async for page in cluster.client.pages(resource, label_selector=_OURS)
            for stored in page.items
        ]
        return cls(cluster, peer, ours, Contender.OURS)

    @property
    def client(self) -> KubeClient:
        """Returns the administrator's client."""
        return self.cluster.client

    def authority(self) -> str:
        """Returns the certificate authority of our webhook, from its registrations, as PEM."""
        bundle = self._hooks[Contender.OURS][0]["webhooks"][0]["clientConfig"]["caBundle"]
        return base64.b64decode(bundle).decode()

    async def activate(self, contender: Contender) -> None:
        """Lets only `contender` work; returns when the API server calls its webhooks."""
        if contender is self._active:
            return
        await self._unregister()
        await asyncio.gather(self.peer.stop(), *map(self.cluster.processes.stop, OUR_PROCESSES))
        self._active = Contender.PLATFORM
        await self._start(contender)
        if contender is not Contender.PLATFORM:
            await self.cluster.apply(self._hooks[contender])
            await self._until_labelled(True)
        self._active = contender

    @asynccontextmanager
    async def both_webhooks(self, *, access_reviews: bool) -> AsyncIterator[None]:
        """Runs both operators' processes inside the context, so that reviews can be sent directly.

        The API server calls only our webhooks. No AppWrappers are created meanwhile, so both
        controllers are idle. `access_reviews`: whether both webhooks ask the API server for the
        user's permissions.
        """
        await self.activate(Contender.OURS)
        await self.peer.start(access_reviews=access_reviews)
        try:
            if not access_reviews:
                await self._restart_webhook(access_reviews=False)
            yield
        finally:
            await self.peer.stop()
            if not access_reviews:
                await self._restart_webhook(access_reviews=True)

    def process_ids(self, contender: Contender) -> list[int]:
        """Returns the process ids of this contender, which is at work; none for the platform."""
        processes = {
            Contender.OURS: OUR_PROCESSES,
            Contender.PEER: (PEER_PROCESS,),
            Contender.PLATFORM: (),
        }
        return [self.cluster.processes[name].pid for name in processes[contender]]

    def webhook_process_id(self, contender: Contender) -> int:
        """Returns the id of the process that answers reviews."""
        name = PEER_PROCESS if contender is Contender.PEER else _WEBHOOK
        return self.cluster.processes[name].pid

    async def cold_start(self) -> float:
        """Returns the seconds from the start of our webhook's process until it is ready."""
        spec = self.cluster.processes[_WEBHOOK].spec
        await self.cluster.processes.stop(_WEBHOOK)
        began = time.monotonic()
        await self.cluster.processes.start(spec)
        return time.monotonic() - began

    def other_process_ids(self) -> list[int]:
        """Returns the ids of the cluster's other processes: API server, etcd, Kueue, KWOK etc."""
        own = {*OUR_PROCESSES, PEER_PROCESS}
        return [
            each.pid
            for name, each in self.cluster.processes.items()
            if name not in own and each.child.exit_code is None
        ]

    async def until_empty(self) -> None:
        """Waits until the pods and Workloads of earlier measurements are gone.

        Raises BenchError if one remains for three minutes.
        """
        deadline = time.monotonic() + _PATIENCE
        for resource in (PODS, _WORKLOADS):
            while await self._any_left(resource):
                if time.monotonic() > deadline:
                    raise BenchError(
                        f"{resource.plural} of namespace {objects.NAMESPACE} are still there"
                        f" after {_PATIENCE:.0f} s."
                    )
                await asyncio.sleep(_PROBE_SECONDS)

    async def _any_left(self, resource: Resource) -> bool:
        pages = self.client.pages(resource, objects.NAMESPACE, metadata_only=True)
        return any([bool(page.items) async for page in pages])

    async def _restart_webhook(self, *, access_reviews: bool) -> None:
        file = self.cluster.directory / "product" / f"{_WEBHOOK}.yaml"
        settings = yaml.safe_load(file.read_text())
        settings["appwrapper"]["userRBACAdmissionCheck"] = access_reviews
        file.write_text(yaml.safe_dump(settings))
        await self.cluster.processes.restart(_WEBHOOK)

    async def _start(self, contender: Contender) -> None:
        if contender is Contender.PEER:
            await self.peer.start()
        elif contender is Contender.OURS:
            await asyncio.gather(*map(self.cluster.processes.restart, OUR_PROCESSES))

    async def _unregister(self) -> None:
        for document in (each for hooks in self._hooks.values() for each in hooks):
            try:
                await self.client.delete(
                    _CONFIGURATIONS[document["kind"]],
                    None,
                    document["metadata"]["name"],
                    uid=None,
                    propagation=Propagation.BACKGROUND,
                )
            except NotFound:
                continue
        await self._until_labelled(False)

    async def _until_labelled(self, expected: bool) -> None:
        """Waits until a dry-run create shows the webhooks' changes, or shows none."""
        probe = objects.wrapped_job("probe", "probe", objects.HELD_QUEUE)
        deadline = time.monotonic() + _PATIENCE
        seen: object = None
        while time.monotonic() < deadline:
            try:
                answer = await self.client.create(
                    APPWRAPPERS, objects.NAMESPACE, probe, dry_run=True
                )
                seen = names.LABEL_USER in answer["metadata"]["labels"]
            except ApiError as refusal:
                seen = refusal
            if seen is expected:
                return
            await asyncio.sleep(_PROBE_SECONDS)
        wanted = "asks" if expected else "still asks"
        raise BenchError(
            f"After {_PATIENCE:.0f} s it is not so that the API server {wanted}: {seen}"
        )


def _as_applied(resource: Resource, stored: JsonObject) -> JsonObject:
    """Copies a webhook configuration or a policy without the server's fields, to apply it again."""
    return {
        "apiVersion": resource.gvk.api_version,
        "kind": resource.kind,
        "metadata": {"name": stored["metadata"]["name"], "labels": stored["metadata"]["labels"]},
        **{field: stored[field] for field in ("webhooks", "spec") if field in stored},
    }
