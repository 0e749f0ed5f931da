"""Looks at one AppWrapper and all that belongs to it. Raises if it cannot see."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.creations import Creations
from controller.gather.components import ComponentLocator, Located
from controller.gather.fault_tolerance import effective_fault_tolerance
from controller.gather.pod import Pod, project_pod
from controller.gather.pod_counts import count_pods, outlived, stragglers
from controller.gather.pod_membership import Membership
from controller.observation import Deployed, Observation
from controller.phases import timers as stored_timers
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.proof import wants_proof
from controller.phases.snapshot import Component, PodSetInfos, Presence, Snapshot, Terminal, Timers
from controller.phases.success import has_ended_well
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import transition_time, true_types
from shared.api.json import JsonObject
from shared.api.labels import is_label_value
from shared.api.names import CONDITION_RESOURCES_DEPLOYED, LABEL_APPWRAPPER
from shared.config.fault_tolerance import FaultTolerance as Defaults
from shared.kube.client import KubeClient
from shared.kube.informer import Informer
from shared.kube.resource import NAMESPACES, PODS

logger = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace, name
PODS_BY_APPWRAPPER = "appwrapper"
# How soon a change is noticed that no watch tells of: of Secrets, and where watching is forbidden.
LOOK_AT_UNWATCHED: Final = timedelta(seconds=30)


def by_appwrapper(pod: Pod) -> tuple[Key]:
    """The pod informer's index of the name PODS_BY_APPWRAPPER."""
    return ((pod.namespace, pod.appwrapper),)


class SnapshotGatherer:
    """Reads caches, and the API server where a cache is no proof."""

    def __init__(
        self,
        client: KubeClient,
        appwrappers: Informer[JsonObject],
        pods: Informer[Pod],
        locator: ComponentLocator,
        creations: Creations,
        defaults: Defaults,
    ) -> None:
        self._client = client
        self._appwrappers = appwrappers
        self._pods = pods
        self._locator = locator
        self._creations = creations
        self._defaults = defaults

    async def gather(self, key: Key, now: datetime) -> Observation | None:
        """None when there is no such AppWrapper, or another controller manages it."""
        raw = self._appwrappers.get(*key)
        if raw is None:
            return None
        appwrapper = AppWrapper(raw)
        if not appwrapper.is_ours:
            return None
        config = effective_fault_tolerance(appwrapper.annotations, self._defaults)
        snapshot = _of_appwrapper(appwrapper)
        if snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED) and not snapshot.deletion_requested:
            return Observation(appwrapper, snapshot, config)
        located = await self._locator.locate(appwrapper)
        pods = [pod for _, pod in self._pods.indexed(PODS_BY_APPWRAPPER, key)]
        snapshot = replace(
            snapshot,
            create_problem=self._creations.problem(appwrapper.uid, appwrapper.attempt),
        )
        if wants_proof(snapshot, now, config):
            return await self._observe_deletion(appwrapper, snapshot, config, located, pods)
        if any(_is_in_trouble(each.component) for each in located):
            ending = await self._namespace_is_ending(appwrapper.namespace)
            snapshot = replace(snapshot, namespace_ending=ending)
        observation = _observation(appwrapper, snapshot, config, located, pods)
        if _pods_are_in_doubt(observation):
            pods = await self._live_pods(key)
            return _observation(appwrapper, snapshot, config, located, pods)
        return observation

    async def _namespace_is_ending(self, namespace: str) -> bool:
        """Then everything in it is being deleted: components may be missing, or fail for it."""
        item = await self._client.get(NAMESPACES, None, namespace, metadata_only=True)
        return "deletionTimestamp" in item["metadata"]

    async def _observe_deletion(
        self,
        appwrapper: AppWrapper,
        snapshot: Snapshot,
        config: FaultTolerance,
        located: Sequence[Located],
        pods: Sequence[Pod],
    ) -> Observation:
        """Proves that all is gone, once nothing is seen any more.

        Components first, then their pods: while a component is there it may make another pod.
        """
        seen = _observation(appwrapper, snapshot, config, located, pods)
        if seen.deployed or seen.pods:
            return seen
        located = await self._locator.locate_live(appwrapper, located)
        pods = await self._live_pods((appwrapper.namespace, appwrapper.name))
        found = _observation(appwrapper, snapshot, config, located, pods)
        unknown = any(each.component.presence is Presence.UNKNOWN for each in located)
        if found.deployed or found.pods or unknown:
            return found
        return replace(found, snapshot=replace(found.snapshot, gone=True))

    async def _live_pods(self, key: Key) -> list[Pod]:
        namespace, name = key
        if not is_label_value(name):
            return []  # no pod can carry that name, and the API server would refuse the question
        pages = self._client.list_pages(
            PODS, namespace, label_selector=f"{LABEL_APPWRAPPER}={name}"
        )
        return [project_pod(item) async for page in pages for item in page.items]


def _is_in_trouble(component: Component) -> bool:
    return component.presence is Presence.GONE or component.terminal is Terminal.FAILED


def _of_appwrapper(appwrapper: AppWrapper) -> Snapshot:
    """What the AppWrapper itself says."""
    status = appwrapper.status
    phase = _phase(status)
    stamp = stored_timers.Stamp(status.get("phase") or "", appwrapper.attempt, appwrapper.retries)
    timers = stored_timers.decode(status.get("timers") or {}, stamp)
    return Snapshot(
        phase=phase,
        suspend=appwrapper.suspend,
        deletion_requested=appwrapper.deletion_requested,
        finalizer=appwrapper.has_our_finalizer,
        queued=bool(appwrapper.queue_name),
        planned=_is_planned(appwrapper),
        pod_set_infos=_pod_set_infos(appwrapper),
        conditions=true_types(appwrapper.conditions),
        retries=appwrapper.retries,
        timers=_with_success(timers, appwrapper) if phase is Phase.SUCCEEDED else timers,
    )


def _phase(status: JsonObject) -> Phase:
    """A phase that nobody knows means: remove what may be there, and begin anew."""
    try:
        return Phase(status.get("phase") or "")
    except ValueError:
        logger.warning("unknown phase %.100r: removing all and beginning anew", status["phase"])
        return Phase.SUSPENDING


def _is_planned(appwrapper: AppWrapper) -> bool:
    recorded = appwrapper.component_statuses
    return (
        appwrapper.attempt > 0
        and len(recorded) == len(appwrapper.components)
        and all(each.get("name") for each in recorded)
    )


def _with_success(timers: Timers, appwrapper: AppWrapper) -> Timers:
    """The TTL of one that succeeded under another operator began when ResourcesDeployed changed."""
    if timers.success is not None:
        return timers
    since = transition_time(appwrapper.conditions, CONDITION_RESOURCES_DEPLOYED)
    return replace(timers, success=since)


def _pod_set_infos(appwrapper: AppWrapper) -> PodSetInfos:
    infos = [len(component.get("podSetInfos") or ()) for component in appwrapper.components]
    pod_sets = [len(recorded.get("podSets") or ()) for recorded in appwrapper.component_statuses]
    if infos == pod_sets:
        return PodSetInfos.COMPLETE
    return PodSetInfos.MISMATCHED if any(infos) else PodSetInfos.ABSENT


def _pods_are_in_doubt(observation: Observation) -> bool:
    """What a component says of its end is about to be acted on, and the pod watch may lag behind.

    On success the quota goes back, so pods that have not all been seen to end must be known: they
    were cleaned up, or outlive their component, or ended just now. On failure a listed exit code
    decides whether there is another attempt, and the pod that has it may not be known yet.
    """
    snapshot, config = observation.snapshot, observation.config
    if snapshot.phase is not Phase.RUNNING:
        return False
    counting = [each for each in snapshot.components if not each.helper]
    if any(each.terminal is Terminal.FAILED for each in counting):
        return bool(config.terminal_exit_codes or config.retryable_exit_codes)
    if not has_ended_well(snapshot) or not any(each.terminal for each in counting):
        return False
    expected = sum(each.expected_pods for each in counting)
    return len(observation.pods) < expected or snapshot.pods.under_way > 0


def _membership(appwrapper: AppWrapper, located: Sequence[Located]) -> Membership:
    made = [each.facts for each in located if each.facts]
    return Membership(
        appwrapper_uid=appwrapper.uid,
        attempt=appwrapper.attempt,
        components=tuple(each.component for each in located),
        uids=tuple(each.facts.uid if each.facts else "" for each in located),
        # The Go operator counted no attempts; what it began and we went on with has no such label.
        taken_over=appwrapper.attempt == 0 or any(not facts.attempt for facts in made),
    )


def _observation(
    appwrapper: AppWrapper,
    snapshot: Snapshot,
    config: FaultTolerance,
    located: Sequence[Located],
    pods: Sequence[Pod],
) -> Observation:
    membership = _membership(appwrapper, located)
    labelled = [pod for pod in pods if membership.is_own(pod)]
    current = [pod for pod in labelled if membership.is_current(pod)]
    deployed = [(each, found) for each in located if (found := _deployed(each)) is not None]
    whole = outlived(current, membership)
    snapshot = replace(
        snapshot,
        components=membership.components,
        pods=count_pods(current, membership, config),
        labelled_pods=len(labelled),
        stray_pods=not deployed and any(not pod.deleting for pod in labelled),
    )
    unwatched = any(each.component.exists and not each.watched for each in located)
    return Observation(
        appwrapper,
        snapshot,
        config,
        deployed=tuple(found for _, found in deployed),
        pods=tuple(_deployed_pod(pod) for pod in labelled),
        helpers=tuple(found for each, found in deployed if each.component.helper),
        stragglers=tuple(_deployed_pod(pod) for pod in stragglers(current, membership)),
        outlived=tuple(
            found
            for index, each in enumerate(located)
            if index in whole and (found := _deployed(each)) is not None
        ),
        look_again=LOOK_AT_UNWATCHED if unwatched else None,
    )


def _deployed(located: Located) -> Deployed | None:
    if located.resource is None or located.facts is None:
        return None
    facts = located.facts
    return Deployed(located.resource, facts.name, facts.uid, facts.deleting)


def _deployed_pod(pod: Pod) -> Deployed:
    return Deployed(PODS, pod.name, pod.uid, pod.deleting)
