"""Starts and ends one local cluster: the context manager.

First come the folder, programs and images, certificates and ports, then etcd and the API server.
Then the controllers, KWOK, Kueue, the chosen components and the product start at once. The team
follows once Kueue serves. With a real node, the product comes after it, in pods.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from pathlib import Path
from typing import Self

from localcluster import pod_diagnostics, realnode, team
from localcluster.access.apply import ManifestApplier
from localcluster.access.certificates import Authority
from localcluster.access.clients import connect_patiently
from localcluster.access.options import ClusterOptions
from localcluster.access.running import OwnedCluster
from localcluster.controlplane import ApiServerReach, ControlPlane, kubelet_access
from localcluster.images import Images, ensure_images
from localcluster.installers import ALWAYS, INSTALLERS, ON_REQUEST
from localcluster.machine.concurrency import together
from localcluster.machine.disk import is_full
from localcluster.machine.errors import DiskFull, LocalClusterError, ToolMissing
from localcluster.machine.folder import ClusterFolder
from localcluster.machine.ports import Ports, default_range
from localcluster.machine.processes import Processes
from localcluster.machine.progress import Reporter, silent, step
from localcluster.product import Product
from localcluster.product_in_pods import ProductInPods
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import KUEUE_VERSIONS, component
from localcluster.programs.toolchain import find_go, find_kubectl, require_linux
from localcluster.realnode import requirements
from localcluster.realnode.network import NodeNetwork
from localcluster.realnode.node import RealNode
from localcluster.state import ClusterState, ProcessState, write_state
from localcluster.webhook_wait import wait_for_webhook
from shared.kube.http_client import HttpKubeClient
from shared.process.clock import SystemClock

__all__ = ["ClusterOptions", "LocalCluster", "check"]


class LocalCluster(OwnedCluster):
    """`async with LocalCluster(options, reporter) as cluster:` runs a cluster inside.

    The exit stops every process and removes every file. If the start fails, the logs are kept and
    the error names their folder.
    """

    node: RealNode | None = None
    """The real node, if the options have one."""
    images: Images | None = None
    """Our images, if the product runs."""

    def __init__(self, options: ClusterOptions, reporter: Reporter = silent) -> None:
        self.options = options
        self.reporter = reporter
        self._folder: ClusterFolder | None = None
        self._http: HttpKubeClient | None = None
        self._network: NodeNetwork | None = None
        self._ready = False

    async def __aenter__(self) -> Self:
        """Starts the cluster. Raises LocalClusterError with a sentence for the user."""
        try:
            await self._start()
        except BaseException as failure:
            reported = await self._give_up(failure)
            if reported is failure:
                raise
            raise reported from failure
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops every process and removes every file."""
        await self._close()

    def keep_logs(self) -> Path:
        """Copies the logs to a folder that stays, for the analysis of a failure."""
        assert self._folder is not None
        return self._folder.keep_logs(self.processes.logs)

    async def keep_pod_diagnostics(self) -> None:
        """Writes real pods' logs, all pods and all events beside the logs, as far as possible."""
        await pod_diagnostics.keep(self)

    async def _start(self) -> None:
        require_linux()
        check(self.options)
        self._folder = ClusterFolder.claim(self.options.directory)
        self.directory = self._folder.path
        self.processes = Processes(self.directory / "logs")
        self.ports = Ports(default_range())
        # For an interpreter that ends without leaving the context manager.
        atexit.register(self._last_resort)
        await self._provide_programs()
        if self.options.real_node:
            if self.options.product:
                self.images = await ensure_images(self.reporter)
            self._network = NodeNetwork.claim()
        await self._start_control_plane()
        product = ProductInPods(self) if self.options.real_node else Product(self)
        await product.apply_definition()
        self._write_state()
        await together(
            self._controllers(),
            *(self._install(name) for name in self._installed() if name != "kueue"),
            self._kueue_and_team(),
            self._node_and_product(product),
        )
        if self.options.product:
            async with step(self.reporter, "wait until the API server asks the webhook"):
                await wait_for_webhook(self.client, product.last_words)
        self._ready = True
        self._write_state()

    def _installed(self) -> list[str]:
        return [*ALWAYS, *sorted(self.options.components)]

    async def _provide_programs(self) -> None:
        go = await find_go()
        cache = BuildCache(default_folder(), go, self.reporter)
        found = await find_kubectl()
        needed = [*programs_of(self.options), *([] if found else ["kubectl"])]
        version = self.options.kueue
        self.programs = await cache.ensure([component(name, version) for name in needed])
        self.kubectl = found or self.programs["kubectl"]
        # Coscheduler's has the PodGroup CRD, which every team needs.
        names = sorted({*self._installed(), "coscheduler"})
        self.modules = {name: await cache.module_folder(component(name, version)) for name in names}

    async def _start_control_plane(self) -> None:
        self.authority = Authority(self.directory / "certificates", SystemClock().now())
        reach = ApiServerReach()
        if (network := self._network) is not None:
            subnets = network.subnets
            reach = ApiServerReach(subnets.host_address, str(subnets.services), nodes=True)
        self._control_plane = ControlPlane(self, reach)
        self.access = self._control_plane.access
        self.kubeconfig = self.access.kubeconfig
        self.processes.on_change(self._write_state)
        async with step(self.reporter, "start etcd and the API server"):
            await self._control_plane.start_api()
        self._http = await connect_patiently(self.kubeconfig)
        self.client = self._http
        self._applier = ManifestApplier(self.client)
        self._kubeconfigs = self.directory / "kubeconfigs"
        if reach.nodes:
            await self.apply([kubelet_access()])

    async def _controllers(self) -> None:
        async with step(self.reporter, "start the controller manager and the scheduler"):
            await self._control_plane.start_controllers()

    async def _install(self, name: str) -> None:
        async with step(self.reporter, f"start {name}"):
            await INSTALLERS[name](self)

    async def _kueue_and_team(self) -> None:
        await self._install("kueue")
        async with step(self.reporter, f"set up {team.NAMESPACE}: quota, queue, priorities"):
            await team.set_up(self)

    async def _node_and_product(self, product: Product | ProductInPods) -> None:
        if self._network is not None:
            self.node = RealNode(self, self._network)
            async with step(self.reporter, "start the real node"):
                await self.node.start()
        if self.node is not None and self.images is not None:
            async with step(self.reporter, "load our images into it"):
                ours = (self.images.webhook, self.images.controller)
                await together(*(self.node.load(image.archive) for image in ours))
        if self.options.product:
            await product.start()

    def _write_state(self) -> None:
        rows = tuple(
            ProcessState(name, each.pid, each.state, each.spec.address, str(each.log))
            for name, each in self.processes.items()
        )
        state = ClusterState(os.getpid(), self._ready, str(self.kubeconfig), rows)
        write_state(self.directory, state)

    async def _give_up(self, failure: BaseException) -> BaseException:
        """Cleans up after a failed start; returns the error to raise, with the kept files."""
        logs = self.processes.logs if self._folder else None
        kept: Path | None = None
        if isinstance(failure, Exception) and self._folder and logs and logs.exists():
            if self.node is not None:
                await self.keep_pod_diagnostics()
            kept = self._try_to_keep_logs()
        await self._close()
        if isinstance(failure, OSError) and is_full(failure):
            return DiskFull(
                f"The disk is full: {failure.strerror} at {failure.filename}. Free some space, or"
                " use --dir (or TMPDIR) to put the cluster on a larger disk."
            )
        if kept is not None:
            self.reporter(f"The logs of this start are kept in {kept}.")
        if isinstance(failure, LocalClusterError) and kept is not None:
            # The logs that the message names are gone; their copies are not.
            return type(failure)(str(failure).replace(str(logs), str(kept)))
        return failure

    def _try_to_keep_logs(self) -> Path | None:
        try:
            return self.keep_logs()
        except OSError as failure:
            self.reporter(f"The logs could not be kept: {failure}.")
            return None

    async def _close(self) -> None:
        try:
            if self._http is not None:
                await self._http.close()
            if self._folder is not None:
                self._end_node()
                await self.processes.stop_all()
        finally:
            self._last_resort()
            atexit.unregister(self._last_resort)

    def _last_resort(self) -> None:
        if self._folder is not None:
            # Each callback runs, last first, even if another one fails.
            with contextlib.ExitStack() as ends:
                ends.callback(self._folder.remove)
                ends.callback(self.ports.release_all)
                ends.callback(self.processes.kill_all_now)
                ends.callback(self._end_node)

    def _end_node(self) -> None:
        with contextlib.ExitStack() as ends:
            if self._network is not None:
                ends.callback(self._network.release)
            if self.node is not None:
                ends.callback(self.node.close_now)


def programs_of(options: ClusterOptions) -> list[str]:
    """Returns the components that a cluster with these options runs, without kubectl."""
    node = realnode.COMPONENTS if options.real_node else ()
    return ["etcd", "kubernetes", *ALWAYS, *sorted(options.components), *node]


def check(options: ClusterOptions) -> None:
    """Raises LocalClusterError if the options cannot be met."""
    unknown = sorted(options.components - ON_REQUEST.keys())
    if unknown:
        raise LocalClusterError(
            f"There is no component {', '.join(unknown)}."
            f" Those that can be added are: {', '.join(sorted(ON_REQUEST))}."
        )
    if options.kueue is not None and options.kueue not in KUEUE_VERSIONS:
        raise LocalClusterError(
            f"--kueue must be one of {', '.join(KUEUE_VERSIONS)}, not {options.kueue!r}."
        )
    if not 0 <= options.nodes <= 5_000:
        raise LocalClusterError(f"--nodes must lie between 0 and 5000, not {options.nodes}.")
    if not 0 <= options.gpus_per_node <= 64:
        raise LocalClusterError(
            f"--gpus-per-node must lie between 0 and 64, not {options.gpus_per_node}."
        )
    if options.real_node and (missing := requirements.missing()):
        raise ToolMissing(f"There can be no real node here. {' '.join(missing)}")
