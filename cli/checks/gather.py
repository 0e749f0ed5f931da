"""Read the cluster for the checks. I/O only.

If the user may not read a resource, the reader notes that and reads the rest. Long lists are read
page by page; only the facts of each page are kept.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from cli.checks.nodes import Latches, NodeState, node_of
from cli.checks.queues import ClusterQueue, LocalQueue, cluster_queue_of, local_queue_of
from cli.checks.report import Observed
from cli.checks.setup_facts import FoundConfiguration
from cli.checks.workloads import HoldingPod, WorkloadFacts, holding_pods, workload_of
from cli.operator_settings import CONFIG_NAME, OPERATOR_NAMESPACES, find_settings
from controller.facts.latches import BadLatches, decode_latches
from controller.facts.suspects import Blame, blames_of
from controller.fleet.breaker import RECORD_NAME, HealthRecord
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NODES, PODS, JsonObject, Resource
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.config.loading import ConfigError, parse_config
from shared.kube.client import ApiError, Forbidden, KubeClient, NotFound

T = TypeVar("T")

GPU: Final = "nvidia.com/gpu"
NO_RIGHT: Final = "you have no right to read this"
KUEUE_GROUP: Final = "kueue.x-k8s.io"
_KUEUE_VERSIONS: Final = ("v1beta2", "v1beta1")
_PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
_BOUND_PODS: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


@dataclass(slots=True)
class Reader:
    """Lists and gets objects. Notes the API server's errors in `unread` instead of raising them."""

    client: KubeClient
    unread: list[str] = field(default_factory=list)

    async def items(
        self,
        what: str,
        resource: Resource,
        project: Callable[[list[JsonObject]], Iterable[T]],
        namespace: str | None = None,
        field_selector: str = "",
    ) -> tuple[T, ...] | None:
        """Return the projections of all objects; None, noted, if the API server refuses the list.

        Raises KubeError if the API server does not answer.
        """
        found: list[T] = []
        try:
            pages = self.client.pages(resource, namespace, field_selector=field_selector)
            async for page in pages:
                found.extend(project(list(page.items)))
        except ApiError as error:
            self.note(what, error)
            return None
        return tuple(found)

    async def one(
        self, what: str, resource: Resource, namespace: str | None, name: str
    ) -> JsonObject | None:
        """Return one object; None if it does not exist or, noted, if it cannot be read."""
        try:
            return await self.client.get(resource, namespace, name)
        except NotFound:
            return None
        except ApiError as error:
            self.note(what, error)
            return None

    def note(self, what: str, error: ApiError) -> None:
        """Note that `what` could not be read, and why."""
        if isinstance(error, Forbidden):
            why = NO_RIGHT
        elif isinstance(error, NotFound):
            why = "the API server does not serve them: is Kueue installed?"
        else:
            why = str(error)
        self.unread.append(f"{what}: {why}")


@dataclass(frozen=True, slots=True)
class Kueue:
    """Kueue's resources, in the newest version that the cluster serves."""

    version: str

    def resource(self, plural: str, kind: str, *, namespaced: bool = True) -> Resource:
        """Return a resource of Kueue in this version."""
        return Resource(KUEUE_GROUP, self.version, plural, kind, namespaced=namespaced)

    @property
    def cluster_queues(self) -> Resource:
        return self.resource("clusterqueues", "ClusterQueue", namespaced=False)

    @property
    def local_queues(self) -> Resource:
        return self.resource("localqueues", "LocalQueue")

    @property
    def workloads(self) -> Resource:
        return self.resource("workloads", "Workload")

    @property
    def flavors(self) -> Resource:
        return self.resource("resourceflavors", "ResourceFlavor", namespaced=False)


async def kueue_of(client: KubeClient) -> Kueue:
    """Return Kueue in the newest version that is served; in the newest if it is not installed."""
    try:
        group = await client.get_path(f"/apis/{KUEUE_GROUP}")
    except ApiError:  # no such group: each of the following lists reports it
        return Kueue(_KUEUE_VERSIONS[0])
    served = {each["version"] for each in group.get("versions") or ()}
    return Kueue(next((each for each in _KUEUE_VERSIONS if each in served), _KUEUE_VERSIONS[0]))


async def operator_configuration(reader: Reader) -> FoundConfiguration:
    """Read the first ConfigMap that exists; return the defaults and the problem otherwise."""
    first = OPERATOR_NAMESPACES[0]
    try:
        found = await find_settings(reader.client)
    except ApiError as error:
        reader.note(f"ConfigMap {first}/{CONFIG_NAME} (defaults are assumed)", error)
        return FoundConfiguration(Configuration(), first, str(error))
    if found is None:
        problem = f"there is no ConfigMap {CONFIG_NAME} in {', '.join(OPERATOR_NAMESPACES)}"
        return FoundConfiguration(Configuration(), first, problem)
    namespace, text = found
    try:
        loaded = parse_config(text, f"{namespace}/{CONFIG_NAME}")
    except ConfigError as error:
        return FoundConfiguration(Configuration(), namespace, str(error))
    return FoundConfiguration(loaded.config, namespace)


async def whole_cluster(client: KubeClient, now: datetime, gpu: str = GPU) -> Observed:
    """Read all for `appwrapper check`. Raises KubeError if the API server does not answer."""
    reader = Reader(client)
    kueue = await kueue_of(client)
    found = await operator_configuration(reader)
    if found.problem and not reader.unread:
        reader.unread.append(
            f"the operator's configuration (defaults are assumed): {found.problem}"
        )
    config = found.config.appwrapper
    local_queues = await reader.items("LocalQueues", kueue.local_queues, _local_queues)
    return Observed(
        config=config,
        nodes=await _nodes(reader, config, await _latches(reader, found.config, now)),
        cluster_queues=await cluster_queues(reader, kueue),
        local_queues=local_queues,
        workloads=await workloads(reader, kueue, None),
        pods=await _pods(reader, gpu),
        default_priority=await default_priority(reader),
        tolerations=await _tolerations(reader, kueue),
        gpu=gpu,
        blames=await _blames(reader),
        unread=tuple(reader.unread),
    )


async def cluster_queues(reader: Reader, kueue: Kueue) -> tuple[ClusterQueue, ...] | None:
    return await reader.items(
        "ClusterQueues", kueue.cluster_queues, lambda page: map(cluster_queue_of, page)
    )


async def workloads(
    reader: Reader, kueue: Kueue, namespace: str | None
) -> tuple[WorkloadFacts, ...] | None:
    """Read the Workloads of the namespace; of all namespaces if it is None."""
    return await reader.items(
        "Workloads", kueue.workloads, lambda page: map(workload_of, page), namespace
    )


async def default_priority(reader: Reader) -> int | None:
    """Return the priority of pods that name no PriorityClass: 0 if no class is the default."""
    found = await reader.items("PriorityClasses", _PRIORITY_CLASSES, lambda page: page)
    if found is None:
        return None
    return next((each["value"] for each in found if each.get("globalDefault")), 0)


async def local_queues_of(
    reader: Reader, kueue: Kueue, namespace: str
) -> tuple[LocalQueue, ...] | None:
    what = f"LocalQueues of namespace {namespace}"
    return await reader.items(what, kueue.local_queues, _local_queues, namespace)


async def _latches(reader: Reader, config: Configuration, now: datetime) -> Latches | None:
    """Return None if no latch is configured or the controller's record is unreadable."""
    period, namespace = config.appwrapper.node_health.latch, config.cert_management.namespace
    if not period:
        return None
    what = f"ConfigMap {namespace}/{RECORD_NAME} (latched nodes)"
    item = await reader.one(what, CONFIGMAPS, namespace, RECORD_NAME)
    try:
        recorded = decode_latches(HealthRecord.of(item).latches if item else "")
    except BadLatches as error:
        reader.unread.append(f"{what}: {error}")
        return None
    return Latches(recorded, period, now)


async def _nodes(
    reader: Reader, config: AppWrapperConfig, latches: Latches | None
) -> tuple[NodeState, ...] | None:
    taints = config.autopilot.resource_taints
    return await reader.items(
        "Nodes", NODES, lambda page: (node_of(each, taints, latches) for each in page)
    )


async def _pods(reader: Reader, gpu: str) -> tuple[HoldingPod, ...] | None:
    return await reader.items("Pods", PODS, lambda page: holding_pods(page, gpu), None, _BOUND_PODS)


async def _blames(reader: Reader) -> tuple[Blame, ...] | None:
    """Read the nodes that AppWrappers suspect. An AppWrapper may have 1 MiB, so pages are small."""
    found: list[Blame] = []
    try:
        async for page in reader.client.pages(APPWRAPPERS, page_size=50):
            found.extend(blame for each in page.items for blame in blames_of(AppWrapper(each)))
    except NotFound:  # the operator is not installed
        return ()
    except ApiError as error:
        reader.note("AppWrappers (suspect nodes)", error)
        return None
    return tuple(found)


async def _tolerations(reader: Reader, kueue: Kueue) -> Mapping[str, list[JsonObject]]:
    found = await reader.items("ResourceFlavors", kueue.flavors, lambda page: page)
    return {
        each["metadata"]["name"]: (each.get("spec") or {}).get("tolerations") or []
        for each in found or ()
    }


def _local_queues(page: list[JsonObject]) -> Iterable[LocalQueue]:
    return map(local_queue_of, page)


async def one_namespace(client: KubeClient, namespace: str, gpu: str = GPU) -> Observed:
    """Read for `appwrapper check --mine` only the resources that a team may read. Raises KubeError.

    A team may not read the operator's configuration and the nodes. So the report has no findings
    about node shapes and assumes the default warm-up period.
    """
    reader = Reader(client)
    kueue = await kueue_of(client)
    return Observed(
        config=AppWrapperConfig(),
        nodes=None,
        cluster_queues=await cluster_queues(reader, kueue),
        local_queues=await local_queues_of(reader, kueue, namespace),
        workloads=await workloads(reader, kueue, namespace),
        pods=None,
        default_priority=await default_priority(reader),
        tolerations={},
        gpu=gpu,
        unread=tuple(reader.unread),
    )
