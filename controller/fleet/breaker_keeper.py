"""Keep the evacuation breakers; record them and the latches in ConfigMap appwrapper-node-health.

An open breaker holds evacuations at once; the record follows. A crash in between loses nothing,
because nodes without a record count as having turned when they are first seen. A confirmation takes
effect only with the write that records it and removes the annotation. So it can never apply to
nodes that turned later.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Final

from controller.facts.latches import LATCHES_KEY, BadLatches, decode_latches
from controller.fleet.breaker import (
    ANNOTATION_CONFIRM,
    RECORD_KEY,
    RECORD_NAME,
    BadRecord,
    Breaker,
    HealthRecord,
    confirm,
    confirmed_in,
    counted,
    decode,
    encode,
    judge,
)
from controller.fleet.node_index import ChangedResources, NodeIndex
from shared.api.objects import CONFIGMAPS
from shared.api.times import format_duration
from shared.config.fault_tolerance import EvacuationBreaker
from shared.kube.client import KubeClient, KubeError, PatchType
from shared.kube.events import EventRecorder, ObjectReference
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import ExponentialBackoff
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

# Seconds between two writes of the record: a hundred nodes that turn at once cause few writes.
PACE: Final = 1.0
_LONGEST_DELAY: Final = 30.0
_NAMED: Final = 20  # nodes in a log line


class BreakerKeeper:
    """Keeps one breaker for each resource of `nodes`. Calls `closed` when evacuations may continue.

    Calls `turned` with nodes that were latched before this process began.
    """

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        nodes: NodeIndex,
        settings: EvacuationBreaker,
        namespace: str,
        recorder: EventRecorder,
        closed: Callable[[], None],
        turned: Callable[[ChangedResources], None],
    ) -> None:
        self._client = client
        self._clock = sources.clock
        self._nodes = nodes
        self._settings = settings
        self._namespace = namespace
        self._recorder = recorder
        self._closed = closed
        self._turned = turned
        self._breakers = {resource: Breaker() for resource in nodes.resources}
        self.adopted = False  # whether the record of the previous process was read
        self._seen_revision = 0
        self._nodes_known = False
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
        """Implement `reset_gate.EvacuationGate`."""
        if not self.adopted:
            return f"the record of node health is not read yet ({self._place})"
        shut = [name for name in resources if self.is_open(name)]
        if not resources or len(shut) < len(resources):
            return None
        return (
            f"so many nodes turned NoExecute at once for {', '.join(sorted(shut))} "
            f"that an admin must confirm evacuations ({self._place})"
        )

    def is_open(self, resource: str) -> bool:
        """True if evacuations for the resource wait."""
        return self._breakers.get(resource, Breaker()).opened is not None

    def nodes_known(self) -> None:
        """Evaluate from now on: all nodes are listed, so their share is known."""
        self._nodes_known = True
        self.look()

    def look(self) -> None:
        """Evaluate the breakers. Call after every change of a node's tags."""
        if not (self._nodes_known and self.record.synced):
            return
        first = self._adopt()
        before, self._breakers = self._breakers, self._judged(self._breakers)
        if self._breakers != before or first:
            self._tell_doubts()
        if self._breakers != before or self._nodes.revision != self._seen_revision:
            self._seen_revision = self._nodes.revision
            self._dirty.set()
        for resource, breaker in self._breakers.items():
            was_open = before[resource].opened is not None
            if breaker.opened is not None and not was_open:
                self._tell_opened(resource)
            elif was_open and breaker.opened is None:
                self._tell_closed(resource)
        if first or any(before[name].opened and not self.is_open(name) for name in before):
            self._closed()

    async def run(self) -> None:
        """Write the record after each change, until cancelled."""
        await self.record.wait_synced()
        self.look()
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
        words = self._words_in(known)
        kept = {name: confirm(self._breakers[name], nodes) for name, nodes in words.items()}
        text, latches = encode(self._judged({**self._breakers, **kept})), self._nodes.record()
        unchanged = text == (known.record or encode({})) and latches == known.latches
        if known.confirmed is None and unchanged:
            return False
        written = await self._client.patch(
            CONFIGMAPS, self._namespace, RECORD_NAME, known.patch(text, latches), PatchType.MERGE
        )
        self.record.assume(written, silent=True)
        for name, nodes in words.items():
            self._breakers[name] = confirm(self._breakers[name], nodes)
        self.look()
        return True

    def _words_in(self, known: HealthRecord) -> dict[str, list[str]]:
        """Return the nodes that the annotation confirms, by resource: all that count now."""
        words: dict[str, list[str]] = {}
        for resource in known.confirmed_resources:
            if self.is_open(resource):
                breaker = self._breakers[resource]
                words[resource] = counted(breaker, self._clock.now(), self._settings)
            else:
                told = f"{ANNOTATION_CONFIRM}: no breaker of {resource} is open; nothing changes"
                logger.warning("%s", told)
                self._recorder.warning(self._about(known), "NothingToConfirm", told)
        return words

    def _adopt(self) -> bool:
        """Load the record of the previous process. Return False if it was loaded before."""
        if self.adopted:
            return False
        self.adopted = True
        self._dirty.set()
        known = self.record.get(self._namespace, RECORD_NAME)
        self._breakers |= self._recorded(known)
        self._adopt_latches(known)
        for resource in filter(self.is_open, self._breakers):
            logger.warning("the evacuation breaker of %s was open before this start", resource)
        return True

    def _recorded(self, known: HealthRecord | None) -> dict[str, Breaker]:
        """Return the recorded breakers of configured resources."""
        if known is None or not known.record:
            return {}
        try:
            recorded = decode(known.record)
        except BadRecord as error:
            logger.warning(
                "%s: %s was not written by this controller: %s", self._place, RECORD_KEY, error
            )
            return {}
        return {name: one for name, one in recorded.items() if name in self._breakers}

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

    def _tell_doubts(self) -> None:
        """Mark the labels that an open breaker counts as doubtful: they must not cause latches."""
        for resource, breaker in self._breakers.items():
            if breaker.opened is not None:
                doubted = counted(breaker, self._clock.now(), self._settings)
                self._nodes.doubt(resource, doubted, doubted=True)
            confirmed = [name for name, node in breaker.nodes.items() if node.confirmed]
            self._nodes.doubt(resource, confirmed, doubted=False)

    def _judged(self, breakers: dict[str, Breaker]) -> dict[str, Breaker]:
        now = self._clock.now()
        return {
            name: judge(
                breaker,
                self._nodes.tagged(name),
                self._nodes.population(name),
                now,
                self._settings,
            )
            for name, breaker in breakers.items()
        }

    def _record_changed(self, change: Change[HealthRecord]) -> None:
        """Apply recorded confirmations: an earlier write may have succeeded without an answer."""
        self._dirty.set()
        if not self.adopted:
            return
        for name, recorded in self._recorded(change.new).items():
            breaker = self._breakers[name]
            self._breakers[name] = confirm(breaker, confirmed_in(recorded, breaker))
        self.look()

    def _tell_opened(self, resource: str) -> None:
        names = counted(self._breakers[resource], self._clock.now(), self._settings)
        window = format_duration(self._settings.window)
        told = (
            f"{len(names)} of {self._nodes.population(resource)} nodes turned NoExecute for "
            f"{resource} within {window}; evacuations wait. If these nodes really are bad: kubectl "
            f"annotate configmap {RECORD_NAME} -n {self._namespace} {ANNOTATION_CONFIRM}={resource}"
        )
        logger.error("%s (%s)", told, ", ".join(names[:_NAMED]))
        if (known := self.record.get(self._namespace, RECORD_NAME)) is not None:
            self._recorder.warning(self._about(known), "EvacuationBreakerOpen", told)

    def _tell_closed(self, resource: str) -> None:
        told = f"evacuations for {resource} continue"
        logger.info("the evacuation breaker closed: %s", told)
        if (known := self.record.get(self._namespace, RECORD_NAME)) is not None:
            self._recorder.normal(self._about(known), "EvacuationBreakerClosed", told)

    def _about(self, known: HealthRecord) -> ObjectReference:
        return ObjectReference("v1", CONFIGMAPS.kind, self._namespace, RECORD_NAME, known.uid)

    @property
    def _place(self) -> str:
        return f"ConfigMap {self._namespace}/{RECORD_NAME}"
