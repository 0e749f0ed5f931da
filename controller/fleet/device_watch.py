"""Follow the caches of devices: keep the index, and wake the AppWrappers whose devices change."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from controller.facts.devices import DeviceClaim, Slice, TaintRule
from controller.facts.evacuation import Key
from controller.facts.pods import Pod
from controller.fleet.device_index import DeviceIndex
from controller.gather.device_caches import BY_POD, BY_POOL, DeviceCaches, DeviceObjects
from shared.kube.object_cache import Change
from shared.process.clock import Clock
from shared.process.supervisor import Runnable

logger = logging.getLogger(__name__)

# Seconds that the start waits for the devices. Without them only evacuations wait.
PATIENCE: Final = 5.0


class DeviceWatch:
    """`pod` returns a pod by namespace and name. `changed` is called after each change of a taint,
    before `wake` is called with the AppWrappers that it concerns, highest priority first.
    """

    def __init__(
        self,
        caches: DeviceCaches,
        clock: Clock,
        pod: Callable[[str, str], Pod | None],
        changed: Callable[[], None],
        wake: Callable[[Key], None],
    ) -> None:
        self._caches = caches
        self._clock = clock
        self._pod = pod
        self._changed = changed
        self._wake = wake
        self.index = DeviceIndex(self._claims_of, self._exists)
        self._known = asyncio.Event()
        # Pods whose AppWrappers are not woken yet, by UID.
        self._concerned: dict[str, Pod] = {}

    def part(self) -> Runnable:
        """Return the part that follows the caches."""
        reason = "before nodes and breakers, so that these count all tainted devices"
        return Runnable("devices", reason, self._follow, ready=self._ready)

    async def _follow(self) -> None:
        objects = await self._caches.served()
        async with asyncio.TaskGroup() as group:
            if objects is not None:
                self._attach(objects)
                for each in objects.all:
                    group.create_task(each.follow())
                for each in objects.all:
                    await each.wait_synced()
            self.index.known = True
            self._known.set()
            self._tell(claim for claim in self._all_claims() if self._is_tainted(claim))
            await asyncio.Event().wait()

    async def _ready(self) -> None:
        try:
            async with self._clock.timeout(PATIENCE):
                await self._known.wait()
        except TimeoutError:
            logger.warning("devices cannot be read yet: their taints are not known")

    def _attach(self, objects: DeviceObjects) -> None:
        objects.slices.add_handler(self._slice_changed)
        objects.claims.add_handler(self._claim_changed)
        if objects.rules is not None:
            objects.rules.add_handler(self._rule_changed)

    def _slice_changed(self, change: Change[Slice]) -> None:
        pools = self.index.update_slice(change, self._clock.now())
        self._tell(claim for pool in pools for claim in self._indexed(BY_POOL, pool))

    def _rule_changed(self, change: Change[TaintRule]) -> None:
        self.index.update_rule(change, self._clock.now())
        rules = [each for each in (change.old, change.new) if each is not None]
        self._tell(
            claim
            for claim in self._all_claims()
            if any(rule.taints(each.device) for rule in rules for each in claim.allocated)
        )

    def _claim_changed(self, change: Change[DeviceClaim]) -> None:
        self.index.update_claim(change)
        if change.new is not None and self._is_tainted(change.new):
            self._concern([change.new])

    def _tell(self, claims: Iterable[DeviceClaim]) -> None:
        """Report a change. The breakers come first: woken AppWrappers meet a breaker that counts
        these devices.
        """
        if self.index.known:
            self._changed()
            self._concern(claims)

    def _concern(self, claims: Iterable[DeviceClaim]) -> None:
        """Wake the AppWrappers of these claims' pods in the next step of the event loop."""
        found = [
            pod
            for claim in claims
            for uid, name in claim.pods
            if (pod := self._pod(claim.namespace, name)) is not None and pod.uid == uid
        ]
        if found and not self._concerned:
            asyncio.get_running_loop().call_soon(self._wake_concerned)
        self._concerned.update((pod.uid, pod) for pod in found)

    def _wake_concerned(self) -> None:
        pods, self._concerned = self._concerned, {}
        priorities: dict[Key, int] = {}
        for pod in pods.values():
            key = (pod.namespace, pod.appwrapper)
            priorities[key] = max(pod.priority, priorities.get(key, pod.priority))
        for key in sorted(priorities, key=lambda key: (-priorities[key], key)):
            self._wake(key)

    def _claims_of(self, uid: str) -> Iterable[DeviceClaim]:
        return self._indexed(BY_POD, uid)

    def _indexed(self, index: str, value: object) -> list[DeviceClaim]:
        objects = self._caches.objects
        return [] if objects is None else [each for _, each in objects.claims.indexed(index, value)]

    def _all_claims(self) -> list[DeviceClaim]:
        objects = self._caches.objects
        return [] if objects is None else [each for _, each in objects.claims.items()]

    def _is_tainted(self, claim: DeviceClaim) -> bool:
        return any(self.index.held(uid) for uid, _ in claim.pods)

    def _exists(self, namespace: str, name: str, uid: str) -> bool:
        pod = self._pod(namespace, name)
        return pod is not None and pod.uid == uid
