"""The caches of devices: ResourceSlices, ResourceClaims and DeviceTaintRules.

They are read in resource.k8s.io/v1 only, and the server is asked once whether it serves them. So
after an upgrade of Kubernetes that brings them, the admin restarts the controller.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from controller.facts.devices import (
    CLAIMS,
    RULES,
    SLICES,
    DeviceClaim,
    Pool,
    Slice,
    TaintRule,
    project_claim,
    project_rule,
    project_slice,
)
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

BY_POD: Final = "pod"
BY_POOL: Final = "pool"
FIRST_LOOK: Final = 1.0
LONGEST_LOOK: Final = 30.0
_PATH: Final = f"/apis/{SLICES.group}/{SLICES.version}"


def _by_pod(claim: DeviceClaim) -> Sequence[str]:
    return [uid for uid, _ in claim.pods]


def _by_pool(claim: DeviceClaim) -> Collection[Pool]:
    return {(each.device.driver, each.device.pool) for each in claim.allocated}


@dataclass(frozen=True, slots=True)
class DeviceObjects:
    """The informers. `rules`: None if the server has no DeviceTaintRules (before 1.37)."""

    slices: Informer[Slice]
    claims: Informer[DeviceClaim]
    rules: Informer[TaintRule] | None

    @property
    def all(self) -> Sequence[Informer[Slice] | Informer[DeviceClaim] | Informer[TaintRule]]:
        rules = () if self.rules is None else (self.rules,)
        return (*rules, self.slices, self.claims)


class DeviceCaches:
    """`objects`: None until the server has answered, and if it does not serve devices."""

    def __init__(self, client: KubeClient, sources: Sources) -> None:
        self._client = client
        self._sources = sources
        self._clock = sources.clock
        self._answered = asyncio.Event()
        self.objects: DeviceObjects | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        served = await self._served()
        if {SLICES.plural, CLAIMS.plural} <= served:
            self.objects = self._make_objects(with_rules=RULES.plural in served)
        else:
            logger.info("the API of devices is not served, so no device is watched")
        self._answered.set()
        async with asyncio.TaskGroup() as group:
            for each in () if self.objects is None else self.objects.all:
                group.create_task(each.run())
            await asyncio.Event().wait()

    async def served(self) -> DeviceObjects | None:
        """Wait for the server's answer. Return the informers; None if it serves no devices."""
        await self._answered.wait()
        return self.objects

    def drop_handlers(self) -> None:
        """Forget the follower: its term has ended."""
        for each in self.all:
            each.drop_handlers()

    @property
    def all(self) -> Sequence[Informer[Slice] | Informer[DeviceClaim] | Informer[TaintRule]]:
        """The informers that run now."""
        return () if self.objects is None else self.objects.all

    async def _served(self) -> frozenset[str]:
        """Return the plural names of the served Kinds."""
        backoff: ExponentialBackoff[None] = ExponentialBackoff(FIRST_LOOK, LONGEST_LOOK)
        while True:
            try:
                found = await self._client.get_path(_PATH)
            except NotFound:
                return frozenset()
            except KubeError as error:
                logger.warning("the API of devices cannot be read: %s", error)
                await self._clock.sleep(backoff.next_delay(None))
            else:
                return frozenset(each["name"] for each in found["resources"])

    def _make_objects(self, *, with_rules: bool) -> DeviceObjects:
        return DeviceObjects(
            Informer(self._client, SLICES, transform=project_slice, sources=self._sources),
            Informer(
                self._client,
                CLAIMS,
                transform=project_claim,
                sources=self._sources,
                indexes={BY_POD: _by_pod, BY_POOL: _by_pool},
            ),
            Informer(self._client, RULES, transform=project_rule, sources=self._sources)
            if with_rules
            else None,
        )
