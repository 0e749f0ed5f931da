"""Gather the Observation of one AppWrapper, its components and its pods."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from controller.facts.components import (
    Located,
    is_lost,
    told_by,
    was_deployed,
    with_attempt,
    with_sound_record,
)
from controller.facts.error_store import StoreRead, awaits_records
from controller.facts.evacuation import UNWATCHED_NODES, NodeTags
from controller.facts.failures import failure_in
from controller.facts.kueue_workloads import pods_ready_eviction
from controller.facts.observe import GatherContext, Observation, membership_of, observe
from controller.facts.own_status import Outline, effective_fault_tolerance, known_phase, read_status
from controller.facts.pod_names import too_large
from controller.facts.pods import Pod
from controller.gather.assignments import Assignments, own_workloads
from controller.gather.components import ComponentLocator
from controller.gather.deletion_proof import DeletionProof, list_live_pods
from controller.gather.error_store import ErrorStores
from controller.gather.node_labels import confirmed
from controller.gather.owner_chains import OwnerChains
from controller.gather.queue_watch import QueueWatch
from controller.gather.rejections import with_rejections
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory import Memory
from controller.phases.needs import Need, is_reassignment_overdue, needs
from controller.phases.phase import Phase, Reason
from controller.phases.snapshot import FaultTolerance, Presence, Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.api.objects import NAMESPACES
from shared.config.configuration import AppWrapperConfig
from shared.kube.client import KubeClient, KubeError
from shared.kube.discovery import Discovery
from shared.kube.informer import Informer
from shared.process.clock import Clock
from shared.process.logs import object_fields
from shared.waits.workload import WORKLOADS

logger = logging.getLogger(__name__)

_WORKLOAD_SECONDS: Final = 5.0  # the quota is held so long at most, only for a message
_PROOFS: Final = frozenset({Need.PROOF, Need.PROOF_SAVE_KEPT})

Key = tuple[str, str]  # namespace, name
PODS_BY_APPWRAPPER = "appwrapper"


def by_appwrapper(pod: Pod) -> tuple[Key]:
    """Index pods by their AppWrapper, for PODS_BY_APPWRAPPER."""
    return ((pod.namespace, pod.appwrapper),)


class SnapshotGatherer:
    """Reads caches, and the API server where a cache proves nothing."""

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
        nodes: NodeTags = UNWATCHED_NODES,
        flagged: Mapping[str, Collection[str]] = UNWATCHED_NODES,
        largest: Callable[[], Mapping[str, Decimal]] = dict,
        stores: ErrorStores | None = None,
        queues: QueueWatch | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._appwrappers = appwrappers
        self._pods = pods
        self._locator = locator
        self._unserved = unserved
        self._owners = OwnerChains(client, discovery, memory)
        self._proof = DeletionProof(
            client, discovery, locator, unserved, self._owners, memory.deletions
        )
        self._deletions = memory.deletions
        self._creations = memory.creations
        self._sightings = memory.sightings
        self._behaviour = behaviour
        self._nodes = nodes
        self._flagged = flagged
        self._largest = largest
        self._stores = stores
        self._queues = queues
        self._assignments = Assignments(client, behaviour.autopilot)

    async def gather(
        self, key: Key, now: datetime, asked: Collection[Need] = ()
    ) -> Observation | None:
        """Observe an AppWrapper; None if it does not exist or another controller manages it.

        `asked`: what `needs_before` asked for. Raises KubeError.
        """
        known = self._appwrappers.get(*key)
        if known is None or not known.is_ours:
            return None
        appwrapper = known.read()
        if is_lost(appwrapper) and was_deployed(appwrapper):
            appwrapper = with_attempt(appwrapper, self._creations.latest(appwrapper.uid))
        appwrapper = with_sound_record(appwrapper)
        config = effective_fault_tolerance(appwrapper, self._behaviour)
        _tell_unless_known_phase(appwrapper)
        snapshot = read_status(appwrapper, now)
        successes = self._sightings.successes(appwrapper.uid, snapshot.phase)
        failures = self._sightings.failures(appwrapper.uid, snapshot.phase)
        needed = needs(snapshot, now, config)
        if Need.DEPLOYED not in needed:
            snapshot = await self._waiting(needed, appwrapper, snapshot, now, config)
            return await self._swept(self._context(appwrapper, snapshot, config, now))
        pods = [pod for _, pod in self._pods.indexed(PODS_BY_APPWRAPPER, key)]
        if is_lost(appwrapper):
            appwrapper = await self._with_attempt_found(appwrapper, pods)
            config = effective_fault_tolerance(appwrapper, self._behaviour)
            snapshot = read_status(appwrapper, now)
            needed = needs(snapshot, now, config)
        proving = not needed.isdisjoint(_PROOFS)
        located = await self._located(appwrapper, proof_follows=proving)
        snapshot = replace(
            snapshot,
            create_problem=self._creations.problem(appwrapper.uid, appwrapper.attempt),
        )
        elsewhere = await self._elsewhere(appwrapper, located, [*pods, *successes, *failures])
        context = self._context(appwrapper, snapshot, config, now, await self._tags(pods, asked))
        context = self._with_records(context, pods, asked=Need.RECORDS in asked)
        context = replace(context, elsewhere=elsewhere, successes=successes, failures=failures)
        if proving:
            context = replace(context, kept_may_stay=Need.PROOF_SAVE_KEPT in needed)
            return await self._proved(context, located, pods)
        observation = observe(context, located, pods)
        needed = needs(observation.snapshot, now, config)
        if Need.REJECTIONS in needed:
            located = await with_rejections(self._client, appwrapper, located)
            observation = observe(context, located, pods)
            needed = needs(observation.snapshot, now, config)
        if Need.NAMESPACE in needed:
            ending = await self._namespace_is_ending(appwrapper.namespace)
            context = replace(context, snapshot=replace(context.snapshot, namespace_ending=ending))
            observation = observe(context, located, pods)
        if Need.LIVE_PODS in {*asked, *needed}:
            observation = await self._with_live_pods(context, located, pods)
        if Need.ASSIGNMENT in needed:
            observation = await self._with_assignment(observation, now)
        observation = self._with_too_large(observation, pods)
        return self._sightings.look(observation)

    async def _swept(self, context: GatherContext) -> Observation:
        """Observe an AppWrapper that has no objects; unexpected ones are in the caches."""
        appwrapper = context.appwrapper
        if appwrapper.attempt:
            await self._locator.watch_kinds(appwrapper)
            key = (appwrapper.namespace, appwrapper.name)
            pods = [pod for _, pod in self._pods.indexed(PODS_BY_APPWRAPPER, key)]
            if pods or context.owned:
                elsewhere = await self._elsewhere(appwrapper, (), pods)
                return observe(replace(context, elsewhere=elsewhere), (), pods)
        return Observation(appwrapper, context.snapshot, context.config)

    def _context(
        self,
        appwrapper: AppWrapper,
        snapshot: Snapshot,
        config: FaultTolerance,
        now: datetime,
        nodes: NodeTags | None = None,
    ) -> GatherContext:
        return GatherContext(
            appwrapper,
            snapshot,
            config,
            now,
            self._nodes if nodes is None else nodes,
            self._flagged,
            owned=self._locator.owned(appwrapper.uid),
            absent=self._deletions.absent(appwrapper.uid),
        )

    def _with_too_large(self, observation: Observation, pods: Sequence[Pod]) -> Observation:
        """If the scheduler rejects pods, add the request that no node can satisfy."""
        counts = observation.snapshot.pods
        if not counts.held_up:
            return observation
        own = [each for each in pods if each.appwrapper_uid == observation.appwrapper.uid]
        counts = replace(counts, too_large=too_large(own, self._largest()))
        return replace(observation, snapshot=replace(observation.snapshot, pods=counts))

    def _with_records(
        self, context: GatherContext, pods: Sequence[Pod], *, asked: bool
    ) -> GatherContext:
        """Add the attempt's records from the error store. `asked`: begin to read the store."""
        appwrapper, store = context.appwrapper, context.config.error_store
        key = (appwrapper.namespace, appwrapper.name)
        running = context.snapshot.phase is Phase.RUNNING
        # The records of a failure that healed are no evidence for the next failure.
        over = bool(store) and not asked and context.snapshot.timers.store is None
        if self._stores is not None and (over or not running):
            self._stores.forget(appwrapper.uid, key)
        if not running:
            return context
        read: StoreRead | None = None
        if self._stores is not None and store:
            read = self._stores.look(appwrapper, store, begin=asked)
        # On nearly every pass nothing failed, so `awaits_records` is not computed.
        failed = bool(store) or any(pod.ends for pod in pods)
        snapshot = replace(
            context.snapshot,
            awaits_records=failed and awaits_records(pods, appwrapper.attempt, store),
            reads_store=asked and read is None,
            store_read=read is not None,
        )
        return replace(context, snapshot=snapshot, store=read)

    async def _tags(self, pods: Sequence[Pod], asked: Collection[Need]) -> NodeTags:
        """Return the known tags of nodes; if their labels are asked for, those that still hold."""
        if Need.LIVE_LABELS not in asked:
            return self._nodes
        return await confirmed(self._client, self._nodes, (pod.node for pod in pods))

    async def _with_live_pods(
        self, context: GatherContext, located: tuple[Located, ...], cached: Sequence[Pod]
    ) -> Observation:
        """Observe with pods read live; pods that are gone count with their last cached state."""
        appwrapper = context.appwrapper
        ended_well = (pod for pod in cached if pod.phase == "Succeeded" and not pod.deleting)
        successes = (*context.successes, *ended_well)
        failures = (*context.failures, *filter(None, map(failure_in, cached)))
        pods = await list_live_pods(self._client, (appwrapper.namespace, appwrapper.name))
        elsewhere = await self._elsewhere(appwrapper, located, [*pods, *successes, *failures])
        found = replace(context, elsewhere=elsewhere, successes=successes, failures=failures)
        return observe(found, located, pods)

    async def _with_assignment(self, observation: Observation, now: datetime) -> Observation:
        """Add why the nodes that Kueue assigned accept no pods.

        Raises KubeError while Kueue may still assign other nodes. After that, a failed read does
        not delay the next attempt, which would otherwise hold quota without running.
        """
        snapshot, appwrapper = observation.snapshot, observation.appwrapper
        name = snapshot.topology_workload
        try:
            found = await self._assignments.look(appwrapper, name)
        except KubeError as error:
            if not is_reassignment_overdue(snapshot, now, observation.config):
                raise
            logger.warning(
                "the next attempt begins without a check of its nodes: Workload %s or its nodes "
                "cannot be read: %s",
                name,
                error,
                extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
            )
            return observation
        return replace(observation, snapshot=replace(snapshot, misplacement=found))

    async def _elsewhere(
        self, appwrapper: AppWrapper, located: tuple[Located, ...], pods: list[Pod]
    ) -> Mapping[str, str]:
        if not membership_of(appwrapper, located).strangers(pods):
            return {}  # as in nearly every pass
        return await self._owners.elsewhere(appwrapper, located, pods)

    async def _unless_kueue_is_missing(self, snapshot: Snapshot) -> Snapshot:
        """Mark as not queued if no Workload can exist. Raises KubeError."""
        if await self._unserved.obstacle(WORKLOADS.gvk):
            return snapshot
        return replace(snapshot, queued=False)

    async def _waiting(
        self,
        needed: Collection[Need],
        appwrapper: AppWrapper,
        snapshot: Snapshot,
        now: datetime,
        config: FaultTolerance,
    ) -> Snapshot:
        """Add what Kueue's objects report about an AppWrapper without components."""
        if Need.KUEUE in needed:
            snapshot = await self._unless_kueue_is_missing(snapshot)
        queues = self._queues
        if Need.QUEUE not in needed or queues is None or not snapshot.queued:
            return snapshot
        told = snapshot.told.get(CONDITION_QUOTA_RESERVED)
        reported = told.message if told and told.reason == Reason.QUEUE_UNUSABLE else ""
        found = await queues.look(appwrapper, reported=reported)
        snapshot = replace(snapshot, queueing=found)
        if found is None or Need.KUEUE_SETTINGS not in needs(snapshot, now, config):
            return snapshot
        unmanaged = await queues.unmanaged(appwrapper.namespace)
        found = replace(found, unmanaged=unmanaged, certain=found.certain or bool(unmanaged))
        return replace(snapshot, queueing=found)

    async def _proved(
        self, context: GatherContext, located: tuple[Located, ...], pods: list[Pod]
    ) -> Observation:
        observation = await self._proof.look(context, located, pods)
        if Need.EVICTION in needs(observation.snapshot, context.now, context.config):
            return await self._with_eviction(observation)
        return observation

    async def _with_eviction(self, observation: Observation) -> Observation:
        """Add why Kueue evicted the AppWrapper; a failed read does not stop the suspension."""
        appwrapper = observation.appwrapper
        try:
            async with self._clock.timeout(_WORKLOAD_SECONDS):
                workloads = await own_workloads(self._client, appwrapper)
        except (KubeError, TimeoutError) as error:
            logger.info(
                "no reason for the suspension can be given: its Workload cannot be read: %s",
                str(error) or "no answer in time",
                extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
            )
            return observation
        eviction = pods_ready_eviction(workloads)
        snapshot = replace(observation.snapshot, pods_ready_eviction=eviction)
        return replace(observation, snapshot=snapshot)

    async def _located(self, appwrapper: AppWrapper, *, proof_follows: bool) -> tuple[Located, ...]:
        located = await self._locator.locate(appwrapper, proof_follows=proof_follows)
        if all(each.component.presence is not Presence.UNKNOWN for each in located):
            return located
        return await self._unserved.settle(appwrapper, located)

    async def _with_attempt_found(self, appwrapper: AppWrapper, pods: list[Pod]) -> AppWrapper:
        """Restore a lost attempt number from the deployed objects, before it is recorded."""
        located = await self._locator.locate(appwrapper, fresh=True)
        number = told_by(appwrapper, [each.facts for each in located if each.facts], pods)
        return with_sound_record(with_attempt(appwrapper, number))

    async def _namespace_is_ending(self, namespace: str) -> bool:
        """True if the namespace is being deleted, which explains missing or failed components."""
        item = await self._client.get(NAMESPACES, None, namespace, metadata_only=True)
        return "deletionTimestamp" in item["metadata"]


def _tell_unless_known_phase(appwrapper: AppWrapper) -> None:
    if known_phase(appwrapper) is None:
        logger.warning(
            "unknown phase %.100r: deleting all components and starting again",
            appwrapper.status["phase"],
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
