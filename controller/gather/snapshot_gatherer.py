"""Answer what a decision asks for, about one AppWrapper, its components and its pods."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from controller.facts.appwrapper_outline import Outline
from controller.facts.attempt_number import highest_attempt, is_lost, was_deployed, with_attempt
from controller.facts.component_status import with_sound_record
from controller.facts.devices import HeldTaints, nothing_held
from controller.facts.effective_fault_tolerance import effective_fault_tolerance
from controller.facts.error_store import StoreRead, awaits_records
from controller.facts.evacuation import NodeTags
from controller.facts.failed_pods import failure_in
from controller.facts.observe import Observation, Reads, observe
from controller.facts.own_status import known_phase, read_status
from controller.facts.pods import Pod
from controller.facts.unreachable import SilentNodes, find_cut_off, silent_nodes_in
from controller.facts.unschedulable import NoNodeFor
from controller.gather.assignments import Assignments, own_workload, own_workloads
from controller.gather.component_reads import ComponentLocator
from controller.gather.deletion_proof import DeletionProof
from controller.gather.device_taints import still_tainted
from controller.gather.error_store_reader import ErrorStores
from controller.gather.live_pods import LivePods
from controller.gather.node_labels import confirmed, removed_nodes, still_silent
from controller.gather.queue_watch import QueueWatch
from controller.gather.rejected_components import with_rejections
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory.memory import Memory
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.reassignment import is_reassignment_overdue
from controller.phases.snapshot import Presence, Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import NAMESPACES
from shared.config.configuration import AppWrapperConfig
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.discovery import Discovery
from shared.kube.informer import Informer
from shared.process.clock import Clock
from shared.process.logs import object_fields
from shared.waits.workload import WORKLOADS, is_finished, pods_ready_eviction

logger = logging.getLogger(__name__)

_WORKLOAD_SECONDS: Final = 5.0  # the quota is held so long at most, only for a message

_EVERYTHING: Final = frozenset(Need)

Key = tuple[str, str]  # namespace, name
PODS_BY_APPWRAPPER = "appwrapper"


def by_appwrapper(pod: Pod) -> tuple[Key]:
    """Index pods by their AppWrapper, for PODS_BY_APPWRAPPER."""
    return ((pod.namespace, pod.appwrapper),)


class SnapshotGatherer:
    """Answers what decisions ask for, from caches or from the API server: one method per need."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        appwrappers: Informer[Outline],
        pods: Informer[Pod],
        discovery: Discovery,
        locator: ComponentLocator,
        unserved: UnservedKinds,
        memory: Memory,
        behaviour: AppWrapperConfig,
        nodes: NodeTags,
        flagged: Mapping[str, Collection[str]],
        silent: SilentNodes,
        held: Callable[[], HeldTaints],
        lacks_node: Callable[[str], bool],
        largest: Callable[[], Mapping[str, Decimal]],
        no_node_for: NoNodeFor,
        stores: ErrorStores,
        queues: QueueWatch,
        lists: LivePods,
    ) -> None:
        self._client = client
        self._clock = clock
        self._appwrappers = appwrappers
        self._pods = pods
        self._locator = locator
        self._unserved = unserved
        self._lists = lists
        self._proof = DeletionProof(client, discovery, locator, unserved, memory.deletions, lists)
        self._memory = memory
        self._creations, self._sightings = memory.creations, memory.sightings
        self._behaviour = behaviour
        self._nodes = nodes
        self._flagged = flagged
        self._silent = silent
        self._held = held
        self._lacks_node = lacks_node
        self._largest = largest
        self._no_node_for = no_node_for
        self._stores = stores
        self._queues = queues
        self._assignments = Assignments(client, behaviour.autopilot)
        self._answers: dict[Need, Callable[[Reads], Awaitable[Reads]]] = {
            Need.OBSERVED: self._observed,
            Need.PROOF: self._proved,
            Need.PROOF_SAVE_KEPT: self._proved_save_kept,
            Need.NAMESPACE: self._namespace,
            Need.REJECTIONS: self._rejections,
            Need.RECORDS: self._records,
            Need.LIVE_LABELS: self._live_labels,
            Need.LIVE_PODS: self._live_pods,
            Need.EVICTION: self._eviction,
            Need.ASSIGNMENT: self._assignment,
            Need.WORKLOADS: self._own_workloads,
            Need.KUEUE: self._kueue,
            Need.QUEUE: self._queue,
            Need.KUEUE_SETTINGS: self._kueue_settings,
        }

    async def begin(self, key: Key, now: datetime) -> Reads | None:
        """Read the AppWrapper alone; None if it is gone, or if another controller manages it.

        The latter is read too once it is being deleted. Raises KubeError. A lost attempt number is
        restored first, because timers depend on it.
        """
        known = self._appwrappers.get(*key)
        if known is None or not (known.is_ours or known.deleting):
            return None
        appwrapper = known.read()
        if is_lost(appwrapper) and was_deployed(appwrapper):
            appwrapper = with_attempt(appwrapper, self._creations.latest(appwrapper.uid))
        appwrapper = with_sound_record(appwrapper)
        _tell_unless_known_phase(appwrapper)
        pods = tuple(pod for _, pod in self._pods.indexed(PODS_BY_APPWRAPPER, key))
        snapshot = self._read_status(appwrapper, now, pods)
        if is_lost(appwrapper) and not _is_waiting(snapshot):
            appwrapper = await self._with_attempt_found(appwrapper, pods)
            snapshot = self._read_status(appwrapper, now, pods)
        snapshot = replace(snapshot, unread=_EVERYTHING)
        if snapshot.phase is Phase.EMPTY:
            first = self._sightings.first_seen(appwrapper.uid, now)
            snapshot = replace(snapshot, waits_since=first)
        config = effective_fault_tolerance(appwrapper, self._behaviour)
        return Reads(
            Observation(appwrapper, snapshot, config),
            now,
            pods=pods,
            nodes=self._nodes,
            flagged=self._flagged,
            silent=self._silent,
            held=self._held(),
            largest=self._largest,
            no_node_for=self._no_node_for,
            successes=self._sightings.successes(appwrapper.uid, snapshot.phase),
            failures=self._sightings.failures(appwrapper.uid, snapshot.phase),
        )

    def _read_status(self, appwrapper: AppWrapper, now: datetime, pods: Sequence[Pod]) -> Snapshot:
        """Read the status. Objects refute a status that shows no deployment: cached ones, and
        those that this process has created.
        """
        uid = appwrapper.uid
        snapshot = read_status(appwrapper, now, self._memory.known(uid).reported)
        if not snapshot.never_deployed:
            return snapshot
        objects = bool(pods or self._creations.latest(uid) or self._locator.owned(uid))
        return replace(snapshot, never_deployed=not objects)

    async def answered(self, reads: Reads, need: Need) -> Reads:
        """Add the answer to one need; the reset gate answers the permits. Raises KubeError."""
        if need not in reads.snapshot.unread:
            raise RuntimeError(f"asked for twice in one pass: {need}")
        return await self._answers[need](reads.having(need))

    async def _observed(self, reads: Reads) -> Reads:
        """OBSERVED. Before its start and after its end no component decides anything.

        Unexpected objects are in the caches.
        """
        if not (_is_waiting(reads.snapshot) or _has_ended(reads.snapshot)):
            reads = await self._with_components(reads, proof_follows=False)
            return await self._seen(await self._with_removed_nodes(reads))
        if not reads.appwrapper.attempt:
            return reads
        await self._locator.watch_kinds(reads.appwrapper)
        reads = self._with_owned(reads)
        return await self._seen(reads) if reads.pods or reads.owned else reads

    async def _proved(self, reads: Reads) -> Reads:
        """PROOF: deletions report no pod as too large for all nodes, so none is searched for."""
        reads = await self._with_components(reads.having(Need.OBSERVED), proof_follows=True)
        return replace(reads, observation=await self._proof.observe(replace(reads, largest=dict)))

    async def _proved_save_kept(self, reads: Reads) -> Reads:
        """PROOF_SAVE_KEPT"""
        return await self._proved(replace(reads, kept_may_stay=True))

    async def _with_removed_nodes(self, reads: Reads) -> Reads:
        """Add the pods' nodes that do not exist. They count as silent, since PodsReady named them
        first.
        """
        nodes = {pod.node for pod in reads.pods if pod.phase not in ("Succeeded", "Failed")}
        names = [name for name in nodes if self._lacks_node(name)]
        if not names or not (removed := await removed_nodes(self._client, names)):
            return reads
        named = silent_nodes_in(reads.snapshot.text_of(CONDITION_PODS_READY).message)
        since = {name: min(named.get(name, reads.now), reads.now) for name in removed}
        return replace(reads, silent={**reads.silent, **since}, removed=removed)

    async def _with_components(self, reads: Reads, *, proof_follows: bool) -> Reads:
        appwrapper = reads.appwrapper
        components = await self._locator.locate(appwrapper, proof_follows=proof_follows)
        if any(each.presence is Presence.UNKNOWN for each in components):
            components = await self._unserved.settle(appwrapper, components)
        problem = self._creations.known(appwrapper.uid, appwrapper.attempt).problem
        store, known = self._records_of(reads, begin=False)
        reads = replace(self._with_owned(reads), components=components, store=store)
        return reads.knowing(create_problem=problem, **known)

    def _with_owned(self, reads: Reads) -> Reads:
        """Add the cached objects that the AppWrapper controls, once their Kinds are watched."""
        uid = reads.appwrapper.uid
        known = self._memory.deletions.known(uid)
        owned, absent, collected = self._locator.owned(uid), known.absent, known.collected
        return replace(reads, owned=owned, absent=absent, collected=collected)

    async def _seen(self, reads: Reads) -> Reads:
        """Observe what was read so far."""
        return replace(reads, observation=self._sightings.with_history(observe(reads)))

    async def _records(self, reads: Reads) -> Reads:
        """RECORDS: begin to read the store, or return what was read since."""
        store, known = self._records_of(reads, begin=True)
        return await self._seen(replace(reads, store=store).knowing(**known))

    def _records_of(self, reads: Reads, *, begin: bool) -> tuple[StoreRead | None, dict[str, Any]]:
        """Return the attempt's records in the error store, and what the snapshot shows of them.

        `begin`: begin to read the store.
        """
        appwrapper, store, pods = reads.appwrapper, reads.config.error_store, reads.pods
        key = (appwrapper.namespace, appwrapper.name)
        running = reads.snapshot.phase is Phase.RUNNING
        # The records of a failure that healed are no evidence for the next failure.
        over = bool(store) and not begin and reads.snapshot.timers.store is None
        if over or not running:
            self._stores.forget(appwrapper.uid, key)
        if not running:
            return None, {}
        read = self._stores.read(appwrapper, store, begin=begin) if store else None
        # On nearly every pass nothing failed, so `awaits_records` is not computed.
        failed = bool(store) or any(pod.ends for pod in pods)
        return read, {
            "awaits_records": failed and awaits_records(pods, appwrapper.attempt, store),
            "reads_store": begin and read is None,
            "store_read": read is not None,
        }

    async def _live_labels(self, reads: Reads) -> Reads:
        """LIVE_LABELS: keep the labels and taints that are still there, and silent nodes."""
        names = {pod.node for pod in reads.pods}
        nodes = await confirmed(self._client, self._nodes, names)
        silent, removed = await still_silent(self._client, reads.silent, names)
        evacuation = reads.snapshot.evacuation
        held: HeldTaints = nothing_held
        if evacuation is not None and evacuation.root_cause is not None:  # devices decide
            held = await still_tainted(self._client, self._held(), [pod.uid for pod in reads.pods])
        reads = replace(reads, nodes=nodes, silent=silent, removed=removed, held=held)
        if not {Need.PROOF, Need.PROOF_SAVE_KEPT} <= reads.snapshot.unread:  # what it saw stays
            return reads.knowing(cut_off=find_cut_off(reads.observation.pods, silent))
        return await self._seen(reads)

    async def _live_pods(self, reads: Reads) -> Reads:
        """LIVE_PODS: pods that are gone count with their last cached state."""
        appwrapper = reads.appwrapper
        ended_well = (pod for pod in reads.pods if pod.phase == "Succeeded" and not pod.deleting)
        successes = (*reads.successes, *ended_well)
        failures = (*reads.failures, *filter(None, map(failure_in, reads.pods)))
        pods = await self._lists.pods((appwrapper.namespace, appwrapper.name))
        reads = replace(reads, pods=pods, successes=successes, failures=failures)
        return await self._seen(reads)

    async def _rejections(self, reads: Reads) -> Reads:
        """REJECTIONS"""
        appwrapper = reads.appwrapper
        components = await with_rejections(self._client, appwrapper, reads.components)
        return await self._seen(replace(reads, components=components))

    async def _namespace(self, reads: Reads) -> Reads:
        """NAMESPACE: its end explains missing or failed components."""
        namespace = reads.appwrapper.namespace
        item = await self._client.get(NAMESPACES, None, namespace, metadata_only=True)
        return reads.knowing(namespace_ending="deletionTimestamp" in item["metadata"])

    async def _assignment(self, reads: Reads) -> Reads:
        """ASSIGNMENT: why the nodes that Kueue assigned accept no pods.

        Raises KubeError while Kueue may still assign other nodes. After that, a failed read does
        not delay the next attempt, which would otherwise hold quota without running.
        """
        appwrapper, name = reads.appwrapper, reads.snapshot.topology_workload
        try:
            return reads.knowing(misplacement=await self._assignments.read(appwrapper, name))
        except KubeError as error:
            if not is_reassignment_overdue(reads.snapshot, reads.now, reads.config):
                raise
            logger.warning(
                "the next attempt begins without a check of its nodes: Workload %s or its nodes "
                "cannot be read: %s",
                name,
                error,
                extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
            )
            return reads

    async def _own_workloads(self, reads: Reads) -> Reads:
        """WORKLOADS: it is not queued if no Workload can exist. Raises KubeError."""
        try:
            found = await own_workloads(self._client, reads.appwrapper)
        except NotFound:
            reads = await self._kueue(reads)
            if reads.snapshot.queued:
                raise
            return reads
        own = (own_workload(each) for each in found if not is_finished(each))
        return reads.knowing(workloads=tuple(own))

    async def _kueue(self, reads: Reads) -> Reads:
        """KUEUE: it is not queued if no Workload can exist. Raises KubeError."""
        may_exist = await self._unserved.obstacle(WORKLOADS.gvk)
        return reads if may_exist else reads.knowing(queued=False)

    async def _queue(self, reads: Reads) -> Reads:
        """QUEUE: what Kueue's objects report about an AppWrapper without components."""
        appwrapper = reads.appwrapper
        found = await self._queues.read(appwrapper, self._memory.of(appwrapper.uid))
        return reads.knowing(queueing=found)

    async def _kueue_settings(self, reads: Reads) -> Reads:
        """KUEUE_SETTINGS"""
        found = reads.snapshot.queueing
        if found is None:
            return reads
        unmanaged = await self._queues.unmanaged(reads.appwrapper.namespace)
        certain = found.certain or bool(unmanaged)
        return reads.knowing(queueing=replace(found, unmanaged=unmanaged, certain=certain))

    async def _eviction(self, reads: Reads) -> Reads:
        """EVICTION; a failed read does not stop the suspension."""
        appwrapper = reads.appwrapper
        try:
            async with self._clock.timeout(_WORKLOAD_SECONDS):
                workloads = await own_workloads(self._client, appwrapper)
        except (KubeError, TimeoutError) as error:
            logger.info(
                "no reason for the suspension can be given: its Workload cannot be read: %s",
                str(error) or "no answer in time",
                extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
            )
            return reads
        found = next(filter(None, map(pods_ready_eviction, workloads)), None)
        return reads.knowing(pods_ready_eviction=found)

    async def _with_attempt_found(self, appwrapper: AppWrapper, pods: Sequence[Pod]) -> AppWrapper:
        """Restore a lost attempt number from the deployed objects, before it is recorded."""
        components = await self._locator.locate(appwrapper, fresh=True)
        number = highest_attempt(appwrapper, components, pods)
        return with_sound_record(with_attempt(appwrapper, number))


def _is_waiting(snapshot: Snapshot) -> bool:
    """True if it should have no objects, and a deletion need not prove that."""
    waits = snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED)
    return waits and (not snapshot.deletion_requested or snapshot.never_deployed)


def _has_ended(snapshot: Snapshot) -> bool:
    """True if only a deletion concerns its objects, and that asks for a proof."""
    return snapshot.phase in (Phase.SUCCEEDED, Phase.FAILED) and not snapshot.deletion_requested


def _tell_unless_known_phase(appwrapper: AppWrapper) -> None:
    if known_phase(appwrapper) is None:
        logger.warning(
            "unknown phase %.100r: deleting all components and starting again",
            appwrapper.status["phase"],
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
