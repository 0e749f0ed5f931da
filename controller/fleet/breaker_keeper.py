"""Keep the evacuation breakers; record them and the latches in ConfigMap appwrapper-node-health.

An open breaker holds evacuations at once; the record follows. A crash in between loses nothing,
because a new process counts the nodes that it finds as having just turned. A confirmation takes
effect only with the write that records it and removes the annotation. So it can never apply to
nodes that turned later.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from controller.facts.latched_nodes import LATCHES_KEY, BadLatches, decode_latches
from controller.facts.nodes import UNREACHABLE
from controller.fleet.breaker import (
    ANNOTATION_CONFIRM,
    RECORD_KEY,
    RECORD_NAME,
    BadRecord,
    Breaker,
    HealthRecord,
    Turned,
    after_restart,
    counted,
    counts_from,
    decode,
    encode,
    judge,
    to_record,
)
from controller.fleet.device_index import DeviceIndex
from controller.fleet.node_index import ChangedResources, NodeIndex
from shared.api.objects import CONFIGMAPS
from shared.api.times import format_duration
from shared.config.fault_tolerance import EvacuationBreaker
from shared.kube.client import KubeClient, KubeError, PatchType
from shared.kube.events import EventRecorder, ObjectReference
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.backoff import ExponentialBackoff
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

# Seconds between two writes of the record: a hundred nodes that turn at once cause few writes.
PACE: Final = 1.0
_LONGEST_DELAY: Final = 30.0
_NAMED: Final = 20  # nodes in a log line


class BreakerKeeper:
    """Keeps one breaker for each resource of `nodes` and for each driver of `devices`.

    Calls `closed` when evacuations may continue. Calls `turned` with nodes that were latched before
    this process began.
    """

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        nodes: NodeIndex,
        devices: DeviceIndex,
        settings: EvacuationBreaker,
        namespace: str,
        recorder: EventRecorder,
        closed: Callable[[], None],
        turned: Callable[[ChangedResources], None],
    ) -> None:
        self._client = client
        self._clock = sources.clock
        self._nodes = nodes
        self._devices = devices
        self._settings = settings
        self._namespace = namespace
        self._recorder = recorder
        self._closed = closed
        self._turned = turned
        self._of_nodes = frozenset((*nodes.resources, UNREACHABLE))
        self._breakers = {resource: Breaker() for resource in (*nodes.resources, UNREACHABLE)}
        self.adopted = False  # whether the record of the previous process was read
        self._seen = "", 0  # the breakers' text and the nodes' revision of the last evaluation
        self._listed: datetime | None = None  # when all nodes were known
        self._dirty = asyncio.Event()
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(PACE, _LONGEST_DELAY)
        self.record: Informer[HealthRecord] = Informer(
            client,
            CONFIGMAPS,
            transform=HealthRecord.of,
            sources=sources,
            namespace=namespace,
            field_selector=f"metadata.name={RECORD_NAME}",
        )
        self.record.add_handler(self._record_changed)

    def closed_to(self, resources: Collection[str]) -> str | None:
        """Return why evacuations for these resources must wait; None if they may begin."""
        if not self.adopted:
            return f"the record of node health is not read yet ({self._place})"
        shut = [name for name in resources if self.is_open(name)]
        # Each resource with a label is a reason to leave its node. Silence is one for all of them.
        opens = len(shut) < len(resources) and UNREACHABLE not in resources
        if not shut or opens:
            return None
        return (
            f"so many nodes turned NoExecute or unreachable at once for {', '.join(sorted(shut))} "
            f"that an admin must confirm evacuations ({self._place})"
        )

    def is_open(self, resource: str) -> bool:
        """True if evacuations for the resource wait."""
        return self._breakers.get(resource, Breaker()).opened is not None

    @property
    def names(self) -> Collection[str]:
        """The resources and drivers with a breaker."""
        return self._breakers.keys()

    def nodes_known(self) -> None:
        """Evaluate from now on: all nodes are listed, so their share is known."""
        self._listed = self._listed or self._clock.now()
        self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the breakers. Call after every change of a node's tags or a device's taints."""
        if self._listed is None or not self.record.synced:
            return
        for driver in self._devices.drivers - self._breakers.keys():
            self._breakers[driver] = Breaker()
        first = self._adopt(self._listed)
        # The same time for all steps: the clock may be set back between them.
        now = self._clock.now()
        self._nodes.limit_times(now)
        self._devices.limit_times(now)
        before, self._breakers = self._breakers, self._judged(self._breakers, now)
        self._doubt_labels(now)
        if (seen := (self._encoded(self._breakers), self._nodes.revision)) != self._seen:
            self._seen = seen
            self._dirty.set()
        for resource, breaker in self._breakers.items():
            was_open = before[resource].opened is not None
            if breaker.opened is not None and not was_open:
                self._report_opened(resource)
            elif was_open and breaker.opened is None:
                self._report_closed(resource)
        if first or any(before[name].opened and not self.is_open(name) for name in before):
            self._closed()

    async def run(self) -> None:
        """Write the record after each change, until cancelled."""
        await self.record.wait_synced()
        self.evaluate()
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            await self._clock.sleep(await self._save_and_rest())

    async def _save_and_rest(self) -> float:
        """Write the record if necessary. Return the seconds until the next write may follow."""
        try:
            wrote = await self._save()
        except KubeError as error:
            delay = self._backoff.next_delay(None)
            logger.warning("%s cannot be written: %s; again in %.0f s", self._place, error, delay)
            self._dirty.set()
            return delay
        self._backoff.forget(None)
        return PACE if wrote else 0.0

    async def _save(self) -> bool:
        """Return whether a write was necessary. Raises KubeError.

        A Conflict means that the watch has not yet reported the newest version.
        """
        if not self.adopted:
            return False  # a record that was not read must not be overwritten
        known = self.record.get(self._namespace, RECORD_NAME)
        if known is None:
            logger.warning(
                "there is no %s: a restart will not know of open breakers and latches", self._place
            )
            return False
        now = self._clock.now()
        confirmed = {
            name: replace(self._breakers[name], confirmed=now) for name in self._confirmed_by(known)
        }
        text = self._encoded(self._judged({**self._breakers, **confirmed}, now))
        latches = self._nodes.record()
        unchanged = text == (known.record or encode({})) and latches == known.latches
        if known.confirmed is None and unchanged:
            return False
        written = await self._client.patch(
            CONFIGMAPS, self._namespace, RECORD_NAME, known.patch(text, latches), PatchType.MERGE
        )
        self.record.assume(written, silent=True)
        for name in confirmed:
            self._confirm(name, now)
        self.evaluate()
        return True

    def _confirmed_by(self, known: HealthRecord) -> list[str]:
        """Return the resources with an open breaker that the annotation confirms."""
        confirmed = []
        for resource in known.confirmed_resources:
            if self.is_open(resource):
                confirmed.append(resource)
            else:
                message = f"{ANNOTATION_CONFIRM}: no breaker of {resource} is open; nothing changes"
                logger.warning("%s", message)
                self._recorder.warning(self._about(known), "NothingToConfirm", message)
        return confirmed

    def _confirm(self, resource: str, time: datetime) -> None:
        """Note that an admin confirmed the nodes that had turned by this time."""
        breaker = self._breakers[resource]
        self._breakers[resource] = replace(breaker, confirmed=max(breaker.confirmed or time, time))

    def _adopt(self, listed: datetime) -> bool:
        """Load the record of the previous process. Return False if it was loaded before."""
        if self.adopted:
            return False
        self.adopted = True
        self._dirty.set()
        known = self.record.get(self._namespace, RECORD_NAME)
        times_recorded = known is not None and known.latches != ""
        recorded = self._recorded(known)
        self._breakers |= {
            name: after_restart(
                one, listed, times_recorded=times_recorded and name in self._of_nodes
            )
            for name, one in recorded.items()
        }
        confirmed = [one.confirmed for one in recorded.values() if one.confirmed]
        if past := [each for each in confirmed if each <= listed]:
            self._nodes.known_before(max(past))
        self._doubt_labels(self._clock.now())
        self._adopt_latches(known)
        for resource in filter(self.is_open, self._breakers):
            logger.warning("the evacuation breaker of %s was open before this start", resource)
        return True

    def _recorded(self, known: HealthRecord | None) -> dict[str, Breaker]:
        """Return the recorded breakers of configured resources, and of drivers.

        Until the devices are known, any other name may be a driver's.
        """
        if known is None or not known.record:
            return {}
        try:
            recorded = decode(known.record)
        except BadRecord as error:
            logger.warning(
                "%s: %s was not written by this controller: %s", self._place, RECORD_KEY, error
            )
            return {}
        any_name = not self._devices.known
        return {name: one for name, one in recorded.items() if any_name or name in self._breakers}

    def _adopt_latches(self, known: HealthRecord | None) -> None:
        try:
            recorded = decode_latches("" if known is None else known.latches)
        except BadLatches as error:
            logger.warning(
                "%s: %s was not written by this controller: %s", self._place, LATCHES_KEY, error
            )
            return
        if turned := self._nodes.adopt(recorded, self._clock.now()):
            self._turned(turned)

    def _doubt_labels(self, now: datetime) -> None:
        """Keep labels that an open breaker counts, and no admin has confirmed, from latching."""
        for resource, breaker in self._breakers.items():
            if resource not in self._of_nodes:
                continue  # devices do not latch
            if breaker.opened is not None:
                self._nodes.doubt(resource, counts_from(breaker, now, self._settings), now)
            if breaker.confirmed is not None:
                self._nodes.trust(resource, breaker.confirmed)

    def _judged(self, breakers: dict[str, Breaker], now: datetime) -> dict[str, Breaker]:
        return {
            name: judge(
                breaker, self._turned_bad(name), self._population(name), now, self._settings
            )
            if name in self._of_nodes or self._devices.known
            else breaker
            for name, breaker in breakers.items()
        }

    def _turned_bad(self, name: str) -> Turned:
        of_nodes = name in self._of_nodes
        return self._nodes.turned_bad(name) if of_nodes else self._devices.turned_bad(name)

    def _population(self, name: str) -> int:
        of_nodes = name in self._of_nodes
        return self._nodes.population(name) if of_nodes else self._devices.population(name)

    def _encoded(self, breakers: Mapping[str, Breaker]) -> str:
        """Return the breakers as text for the record."""
        return encode(
            {
                name: to_record(
                    breaker, self._turned_bad(name), self._population(name), self._settings
                )
                for name, breaker in breakers.items()
            }
        )

    def _record_changed(self, change: Change[HealthRecord]) -> None:
        """Apply recorded confirmations: an earlier write may have succeeded without an answer."""
        self._dirty.set()
        if not self.adopted:
            return
        for name, recorded in self._recorded(change.new).items():
            # A time in the future is older than the last change of the clock.
            confirmed = recorded.confirmed if name in self._breakers else None
            if confirmed is not None and confirmed <= self._clock.now():
                self._confirm(name, confirmed)
        self.evaluate()

    def _report_opened(self, resource: str) -> None:
        turned, now = self._turned_bad(resource), self._clock.now()
        names = counted(self._breakers[resource], turned, now, self._settings)
        window, population = format_duration(self._settings.window), self._population(resource)
        what, bad = "nodes", f"NoExecute or unreachable for {resource}"
        if resource == UNREACHABLE:
            bad = UNREACHABLE
        elif resource not in self._of_nodes:
            what, bad = "pools", f"NoExecute for devices of {resource}"
        message = (
            f"{len(names)} of {population} {what} turned {bad} within {window}, or were so when "
            f"the controller started; evacuations wait. If these {what} really are bad: kubectl "
            f"annotate configmap {RECORD_NAME} -n {self._namespace} {ANNOTATION_CONFIRM}={resource}"
        )
        logger.error("%s (%s)", message, ", ".join(names[:_NAMED]))
        if (known := self.record.get(self._namespace, RECORD_NAME)) is not None:
            self._recorder.warning(self._about(known), "EvacuationBreakerOpen", message)

    def _report_closed(self, resource: str) -> None:
        message = f"evacuations for {resource} continue"
        logger.info("the evacuation breaker closed: %s", message)
        if (known := self.record.get(self._namespace, RECORD_NAME)) is not None:
            self._recorder.normal(self._about(known), "EvacuationBreakerClosed", message)

    def _about(self, known: HealthRecord) -> ObjectReference:
        return ObjectReference("v1", CONFIGMAPS.kind, self._namespace, RECORD_NAME, known.uid)

    @property
    def _place(self) -> str:
        return f"ConfigMap {self._namespace}/{RECORD_NAME}"
