"""Adjust the slack ClusterQueue's lending limits to the capacity that nodes can still offer.

Every process reads the nodes, ClusterQueues and ResourceFlavors itself, and the ClusterQueue stores
the limits. So a crash between two requests loses nothing. A limit never rises before the process
has watched for 30 seconds.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from controller.fleet.node_index import NodeIndex
from controller.gauges import Watched
from controller.slack.pace import LimitPlan, SlackPace, patch
from controller.slack.quota import (
    FIELD_MANAGER,
    SlackQuota,
    StoredQueue,
    node_flavor,
    schedulable,
    slack_quotas,
    stored_queue,
)
from controller.slack.reports import SlackReports
from shared.config.fault_tolerance import SlackQueue
from shared.kube.client import ApiError, Forbidden, KubeClient, KubeError, PatchType
from shared.kube.events import EventRecorder
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources
from shared.waits.quota import CLUSTER_QUEUES, RESOURCE_FLAVORS

logger = logging.getLogger(__name__)

# Seconds between two computations: a hundred nodes that change at once are summed up once.
COMPUTE_SECONDS: Final = 1.0
# Seconds until a computation without an event: a node may become unschedulable by time alone.
IDLE_SECONDS: Final = 30.0


class SlackKeeper:
    """Adjusts the limits. `nodes` must be complete before `run`; call `changed` when nodes change.

    `certain`: whether the state of the nodes is current. If not, limits only fall.
    """

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        nodes: NodeIndex,
        settings: SlackQueue,
        recorder: EventRecorder,
        certain: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._clock = sources.clock
        self._nodes = nodes
        self._certain = certain
        self._settings = settings
        self._reports = SlackReports(settings, recorder)
        self._pace = SlackPace()
        self._has_changed = asyncio.Event()
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(COMPUTE_SECONDS, IDLE_SECONDS)
        self._no_write_before = 0.0  # monotonic; after a failed write
        # The current state of the queue, for the metrics. Empty without such a queue, and while the
        # API server does not serve Kueue's API.
        self.rows: tuple[SlackQuota, ...] = ()
        self._runs = False
        # They list again and again while the API server does not serve Kueue's API.
        self._queues = Informer(client, CLUSTER_QUEUES, transform=stored_queue, sources=sources)
        self._queues.add_handler(self._queue_changed)
        self._flavors = Informer(client, RESOURCE_FLAVORS, transform=node_flavor, sources=sources)
        self._flavors.add_handler(lambda _: self.changed())

    def changed(self) -> None:
        """Report a change. Fast: `run` computes the limits later, once for all changes."""
        self._has_changed.set()

    @property
    def informers(self) -> tuple[Watched, ...]:
        """The running informers, for the metrics; none while Kueue's API is not served.

        Without Kueue nothing is missed, so their age must raise no alert.
        """
        return (self._queues, self._flavors) if self._runs and not self._is_unserved() else ()

    async def run(self) -> None:
        """Adjust the limits until cancelled."""
        self._runs = True
        async with asyncio.TaskGroup() as group:
            for each in (self._queues, self._flavors):
                group.create_task(each.run())
            await self._keep()

    def _queue_changed(self, change: Change[StoredQueue]) -> None:
        self.changed()
        old, new = change.old, change.new
        if old is None or new is None or new.name != self._settings.name:
            return
        # Without another manager the controller itself wrote the change.
        if new.is_edited and _is_any_limit_changed(old, new):
            self._reports.edited(new)

    async def _keep(self) -> None:
        while True:
            self._has_changed.clear()
            rest = COMPUTE_SECONDS
            if self._is_unserved():
                self.rows = ()  # the events of objects that went with their CRD may be lost
            elif self._queues.synced and self._flavors.synced:
                rest = await self._adjust()
            # At least that long, so that many changes cause few computations.
            await self._clock.sleep(min(rest, COMPUTE_SECONDS))
            await self._until_changed(rest - COMPUTE_SECONDS)

    def _is_unserved(self) -> bool:
        return self._queues.unserved or self._flavors.unserved

    async def _until_changed(self, seconds: float) -> None:
        if seconds <= 0:
            return
        try:
            async with self._clock.timeout(seconds):
                await self._has_changed.wait()
        except TimeoutError:
            pass

    async def _adjust(self) -> float:
        """Compute and write the limits. Return the seconds until the next computation."""
        slack = self._queues.get("", self._settings.name)
        if slack is None:
            self.rows = ()
            self._reports.missing()
            return IDLE_SECONDS
        free = schedulable(self._nodes.shares(), (each for _, each in self._flavors.items()))
        self.rows = slack_quotas(slack, (each for _, each in self._queues.items()), free)
        certain = self._certain() and not (self._queues.refused or self._flavors.refused)
        plan = self._pace.plan(self.rows, self._clock.monotonic(), certain=certain)
        self._reports.exceeds(slack, self.rows, plan.excess)
        if not slack.cohort:
            self._reports.without_cohort(slack)
            return IDLE_SECONDS
        rest = IDLE_SECONDS if plan.due is None else min(plan.due, IDLE_SECONDS)
        if not plan.changes:
            self._reports.found()
            self._reports.as_planned()
            return rest
        wait = max(plan.wait, self._no_write_before - self._clock.monotonic())
        if wait > 0:
            return min(wait, rest)
        await self._write(slack, plan)
        return COMPUTE_SECONDS

    async def _write(self, slack: StoredQueue, plan: LimitPlan) -> None:
        if self._settings.dry_run:
            self._pace.sent(self._clock.monotonic())
            self._reports.found()
            self._reports.planned(slack, plan.changes)
            return
        try:
            written = await self._client.patch(
                CLUSTER_QUEUES,
                None,
                slack.name,
                patch(slack, plan.changes),
                PatchType.JSON,
                field_manager=FIELD_MANAGER,
            )
        except KubeError as error:
            self._not_written(slack, error)
            return
        self._backoff.forget(None)
        self._pace.sent(self._clock.monotonic())
        self._pace.wrote(plan.changes)
        self._queues.assume(written)
        self._reports.found()
        self._reports.changed(slack, plan.changes)

    def _not_written(self, slack: StoredQueue, error: KubeError) -> None:
        """Log a failed write and delay the next one.

        An admin's edit in between also makes a write fail; the next computation uses that edit.
        """
        delay = self._backoff.next_delay(None)
        self._no_write_before = self._clock.monotonic() + delay
        if not isinstance(error, ApiError):
            self._pace.sent(self._clock.monotonic())  # it may have taken effect
        logger.warning(
            "slack queue: ClusterQueue %s cannot be written: %s; again in %.0f s",
            slack.name,
            error,
            delay,
        )
        if isinstance(error, Forbidden):
            self._reports.forbidden(slack, str(error))


def _is_any_limit_changed(old: StoredQueue, new: StoredQueue) -> bool:
    limits = {each.key: each.lending_limit for each in new.quotas}
    return any(
        limits.get(each.key, each.lending_limit) != each.lending_limit for each in old.quotas
    )
