"""Delete what an AppWrapper deployed, always by UID, never by name alone."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from controller.apply.fence import is_later, read_unchanged
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation
from controller.memory.deletions import Deletions
from controller.phases.actions import DeletionMode
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.objects import PODS
from shared.api.times import parse_time
from shared.kinds.table import record_of
from shared.kube.client import (
    ApiError,
    Conflict,
    KubeClient,
    NotFound,
    Propagation,
    TooManyRequests,
    Unauthorized,
)
from shared.process.clock import Clock
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)

# Concurrent deletes of one AppWrapper.
AT_ONCE: Final = 16
# Seconds until the same object is forced again: each change of a pod causes a pass.
FORCED_AGAIN: Final = 25.0
# Seconds that the kubelet has to stop a forced pod and to report it. After that the controller
# removes the pod object without the kubelet's report.
NODE_PATIENCE: Final = 4.0
# Grace period of a pod's first forced delete. With 0 the API server removes the pod at once, even
# if its processes run. With 1 the kubelet removes the pod after its processes have ended; the
# pod's own grace period, which shared/injection/pod_template.py limits, bounds that time.
SHORTEST_GRACE: Final = 1


Swept = Callable[[AppWrapper, Sequence[DeployedObject]], None]


class Deleter:
    """Deletes components in the foreground: each disappears only after all that it owns.

    Pods are deleted in the background, and so are components for which nothing makes pods any more,
    and Kinds whose record asks for it: the garbage collector then deletes what they own.
    `swept` receives the unexpected objects whose deletes were accepted.
    """

    def __init__(
        self, client: KubeClient, deletions: Deletions, clock: Clock, swept: Swept
    ) -> None:
        self._client = client
        self._swept = swept
        self._deletions = deletions
        self._clock = clock

    async def delete(
        self,
        observation: Observation,
        mode: DeletionMode,
        *,
        keep: bool = False,
        nodes: Collection[str] = (),
    ) -> None:
        """Delete the objects that `mode` selects; with `keep`, except kept components.

        `nodes`: those of FORCE_CUT_OFF.

        Raises KubeError after sending all deletes; accepted deletes stay accepted. While the whole
        AppWrapper is deleted, a rejected delete is no error: every pass retries it. Raises
        OutOfDate before any delete if another process works on a later attempt.
        """
        seen = observation
        match mode:
            case DeletionMode.GRACEFUL:
                await self._once(seen, _going(seen.deployed, keep))
                if seen.snapshot.stray_pods:
                    await self._once(seen, seen.pods)
            case DeletionMode.HELPERS:
                await self._once(seen, seen.helpers)
            case DeletionMode.WITH_COMPONENT:
                await self._once(seen, seen.deleted_with_pods)
            case DeletionMode.STRAGGLERS:
                await self._once(seen, seen.stragglers)
            case DeletionMode.UNEXPECTED:
                await self._sweep(seen)
            case DeletionMode.FORCE_PODS | DeletionMode.FORCE_LEAVING | DeletionMode.FORCE_CUT_OFF:
                await self._forced_pods(seen, _to_force(seen.pods, mode, nodes), nodes)
            case DeletionMode.FORCE_COMPONENTS:
                await self._forced(seen, _going(seen.deployed, keep), Propagation.FOREGROUND, 0)
            case DeletionMode.BACKGROUND_EMPTY:
                # This pass proved that they own nothing, so earlier deletes do not matter.
                await self._all(seen, _going(seen.empty, keep), Propagation.BACKGROUND, 0)

    async def _once(self, observation: Observation, targets: Iterable[DeployedObject]) -> None:
        """Delete with the objects' own grace periods. An accepted delete is not sent again."""
        owner = observation.appwrapper.uid
        unasked = [
            target
            for target in targets
            if _is_to_go(target) and target.uid not in self._deletions.known(owner).accepted
        ]
        await self._all(observation, unasked, None, None)

    async def _sweep(self, observation: Observation) -> None:
        """Delete unexpected objects and report those that existed: a cache may show gone ones."""
        owner = observation.appwrapper.uid
        new = [
            each
            for each in observation.unexpected
            if each.uid not in self._deletions.known(owner).accepted
        ]
        components = [each for each in new if each.resource != PODS]
        pods = [each for each in new if each.resource == PODS]
        try:
            await self._once(observation, components)
            await self._once(observation, pods)
        finally:
            gone = [each for each in new if each.uid in self._deletions.known(owner).accepted]
            if gone:
                self._swept(observation.appwrapper, gone)

    async def _forced_pods(
        self,
        observation: Observation,
        pods: Iterable[DeployedObject],
        silent: Collection[str] = (),
    ) -> None:
        """Let the kubelets stop the pods; remove a pod object if its kubelet cannot or did not."""
        owner = observation.appwrapper.uid
        killed: list[DeployedObject] = []
        removed: list[DeployedObject] = []
        for pod in pods:
            lost = pod.node in observation.silent_nodes or pod.node in silent
            again = pod.uid in self._deletions.known(owner).forced
            (removed if lost or again else killed).append(pod)
        await self._forced(observation, killed, Propagation.BACKGROUND, SHORTEST_GRACE)
        await self._forced(observation, removed, Propagation.BACKGROUND, 0)

    async def _forced(
        self,
        observation: Observation,
        targets: Iterable[DeployedObject],
        propagation: Propagation,
        grace: int,
    ) -> None:
        """Delete with this grace period, and repeat the delete after a while."""
        owner, now = observation.appwrapper.uid, self._clock.monotonic()
        due = [target for target in targets if self._is_due(owner, target, now)]
        await self._all(observation, due, propagation, grace)

    def _is_due(self, owner: str, target: DeployedObject, now: float) -> bool:
        forced = self._deletions.known(owner).forced.get(target.uid)
        if forced is None:
            return True
        once = forced.times == 1 and target.resource == PODS
        return now - forced.at >= (forced.patience if once else FORCED_AGAIN)

    def _patience(self, observation: Observation, target: DeployedObject) -> float:
        """Return the seconds that the kubelet has to stop the pod.

        A controller may delete a component's pods late. The kubelet counts the grace period from
        that delete, so the rest of it is added, up to ForcefulDeletionGracePeriod.
        """
        if not target.deletion_deadline:
            return NODE_PATIENCE
        left = (parse_time(target.deletion_deadline) - self._clock.now()).total_seconds()
        longest = observation.config.forceful_deletion_grace.total_seconds()
        return NODE_PATIENCE + min(max(left, 0.0), longest)

    async def _all(
        self,
        observation: Observation,
        targets: Iterable[DeployedObject],
        propagation: Propagation | None,
        grace: int | None,
    ) -> None:
        """Delete; without a `propagation`, as each object needs it."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(target: DeployedObject) -> None:
            async with slots:
                await self._delete(observation, target, propagation or _propagation(target), grace)

        # Two components may be one object.
        by_uid = {target.uid: target for target in targets}
        appwrapper = observation.appwrapper
        if any(is_later(target.attempt, appwrapper) for target in by_uid.values()):
            await read_unchanged(self._client, appwrapper, "delete its objects")
        answers = await asyncio.gather(*map(one, by_uid.values()), return_exceptions=True)
        for answer in answers:
            if answer is not None:
                raise answer

    async def _delete(
        self,
        observation: Observation,
        target: DeployedObject,
        propagation: Propagation,
        grace: int | None,
    ) -> None:
        owner = observation.appwrapper.uid
        try:
            await self._client.delete(
                target.resource,
                observation.appwrapper.namespace,
                target.name,
                uid=target.uid,
                propagation=propagation,
                grace_period_seconds=grace,
            )
        except (NotFound, Conflict):  # it is gone, or another object has its name: a read decides
            self._deletions.of(owner).absent.add(target.uid)
        except (TooManyRequests, Unauthorized):
            raise
        except ApiError as error:
            self._refused(observation.appwrapper, target, error)
            if observation.snapshot.phase is Phase.RUNNING:  # nothing else would try again
                raise
        else:
            self._deletions.accept(owner, target.uid)
            if propagation is Propagation.BACKGROUND:
                self._deletions.of(owner).collected.add(target.uid)
            if grace is not None:
                patience = self._patience(observation, target)
                self._deletions.force(owner, target.uid, self._clock.monotonic(), patience=patience)

    def _refused(self, appwrapper: AppWrapper, target: DeployedObject, error: ApiError) -> None:
        if self._deletions.known(appwrapper.uid).refused.get(target.uid, "") != error.message:
            fields = object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid)
            kind = target.resource.kind
            logger.warning("%s %s may not be deleted: %s", kind, target.name, error, extra=fields)
        self._deletions.of(appwrapper.uid).refused[target.uid] = error.message


def _propagation(target: DeployedObject) -> Propagation:
    idle = target.idle or target.resource == PODS or _is_let_go(target)
    return Propagation.BACKGROUND if idle else Propagation.FOREGROUND


def _is_to_go(target: DeployedObject) -> bool:
    return not target.deleting or _is_let_go(target)


def _is_let_go(target: DeployedObject) -> bool:
    """True if a foreground deletion may never end, also one that another client began.

    The proof of the deletion finds what the object made, and deletes it.
    """
    return record_of(target.resource.gvk.group_kind).in_background


def _to_force(
    pods: Iterable[DeployedObject], mode: DeletionMode, nodes: Collection[str]
) -> list[DeployedObject]:
    """Return all pods, or those that are being deleted; with `nodes`, only those there."""
    if mode is DeletionMode.FORCE_PODS:
        return list(pods)
    return [pod for pod in pods if pod.deleting and (not nodes or pod.node in nodes)]


def _going(deployed: Iterable[DeployedObject], keep: bool) -> list[DeployedObject]:
    return [each for each in deployed if not (keep and each.keep)]
