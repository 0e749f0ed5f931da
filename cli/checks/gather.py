"""Read the cluster for the checks. I/O only.

If the user may not read a resource, the reader notes that and reads the rest. It keeps only
the facts of each page of long lists (nodes, workloads, pods).
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, TypeVar

from cli.checks.nodes import Latches, node_of
from cli.checks.report import Observed
from cli.checks.workloads import (
    WorkloadFacts,
    holding_pods,
    with_named_preemptors,
    workload_facts,
)
from cli.cluster.kueue import local_queue_of
from cli.cluster.reader import Reader, as_they_are
from cli.cluster.unread import Unread
from controller.facts.latched_nodes import BadLatches, decode_latches
from controller.fleet.breaker import RECORD_NAME, HealthRecord
from shared.api.objects import CONFIGMAPS, NODES, PODS, JsonObject, Resource
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from shared.waits.workload import WORKLOADS

T = TypeVar("T")

_PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
BOUND_PODS: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


def _each(read: Callable[[JsonObject], T]) -> Callable[[list[JsonObject]], Iterable[T]]:
    return lambda page: map(read, page)


async def whole_cluster(client: KubeClient, now: datetime) -> Observed:
    """Read all for `appwrapper check`. Raises KubeError if the API server does not answer."""
    reader = Reader(client)
    found = await reader.operator_configuration()
    if found.problem and not reader.unread:
        what = "the operator's configuration (defaults are assumed)"
        reader.unread.append(Unread(what, found.mistakes or found.problem))
    config = found.behaviour
    local_queues = await reader.every(LOCAL_QUEUES, _each(local_queue_of))
    latches = await read_latches(reader, found.config, now)
    taints = config.autopilot.resource_taints
    return Observed(
        config=config,
        nodes=await reader.every(NODES, _each(lambda item: node_of(item, taints, latches))),
        cluster_queues=await reader.every(CLUSTER_QUEUES, as_they_are),
        local_queues=local_queues,
        workloads=await _workloads(reader, None),
        pods=await reader.every(PODS, holding_pods, field_selector=BOUND_PODS),
        default_priority=await _default_priority(reader),
        tolerations=await _tolerations(reader),
        unread=tuple(reader.unread),
    )


async def _workloads(reader: Reader, namespace: str | None) -> tuple[WorkloadFacts, ...] | None:
    found = await reader.every(WORKLOADS, _each(workload_facts), namespace)
    return None if found is None else with_named_preemptors(found)


async def _default_priority(reader: Reader) -> int | None:
    """Return the priority of pods that name no PriorityClass: 0 if no class is the default."""
    found = await reader.every(_PRIORITY_CLASSES, as_they_are)
    if found is None:
        return None
    return next((each["value"] for each in found if each.get("globalDefault")), 0)


async def read_latches(reader: Reader, config: Configuration, now: datetime) -> Latches | None:
    """Return None if no latch is configured or the controller's record is unreadable."""
    period, namespace = config.appwrapper.node_health.latch, config.cert_management.namespace
    if not period:
        return None
    what = f"ConfigMap {namespace}/{RECORD_NAME} (latched nodes)"
    item = await reader.one(CONFIGMAPS, namespace, RECORD_NAME, what=what)
    try:
        recorded = decode_latches(HealthRecord.of(item).latches if isinstance(item, dict) else "")
    except BadLatches as error:
        reader.unread.append(Unread(what, str(error)))
        return None
    return Latches(recorded, period, now)


async def _tolerations(reader: Reader) -> tuple[JsonObject, ...]:
    found = await reader.every(RESOURCE_FLAVORS, as_they_are)
    return tuple(
        toleration
        for each in found or ()
        for toleration in (each.get("spec") or {}).get("tolerations") or ()
    )


async def one_namespace(client: KubeClient, namespace: str) -> Observed:
    """Read for `appwrapper check --mine` only the resources that a team may read. Raises KubeError.

    It reads neither the operator's configuration nor the nodes: in older installations a team may
    not read them. So the report has no findings about node shapes and assumes the default warm-up
    period.
    """
    reader = Reader(client)
    return Observed(
        cluster_queues=await reader.every(CLUSTER_QUEUES, as_they_are),
        local_queues=await reader.every(LOCAL_QUEUES, _each(local_queue_of), namespace),
        workloads=await _workloads(reader, namespace),
        default_priority=await _default_priority(reader),
        unread=tuple(reader.unread),
    )
