"""Report to users what happens to an object, as Kubernetes Events.

Recording does not block the caller and cannot fail. A background task writes the events from a
bounded queue. If an event cannot be written, it is lost with a log line: state that matters is in
conditions.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from shared.api.appwrapper import AppWrapper
from shared.api.names import API_VERSION, KIND
from shared.api.objects import EVENTS, JsonObject
from shared.api.times import format_time
from shared.kube.client import KubeClient, KubeError, NotFound, PatchType
from shared.process.clock import Clock
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)

# For this many seconds, a repeated event on the same object is counted, not created again.
SAME_SECONDS = 600.0
# The minimum number of seconds between two writes of that count.
COUNT_SECONDS = 30.0
# During that time, this many different messages of one reason on one object get an Event each. All
# further messages are counted in one combined Event, which shows the latest.
DIFFERENT_MESSAGES = 10
COMBINED = "(combined from similar events): "
QUEUE_LIMIT = 1000
REMEMBERED = 4096
MESSAGE_LIMIT = 1024  # bytes
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# An object's name plus a dot and the suffix must stay a legal name.
_NAME_LIMIT = 253 - 17


class EventType(StrEnum):
    """The Type column of `kubectl describe`."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about. `namespace` is empty for cluster-wide Kinds."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def to(cls, appwrapper: AppWrapper) -> "ObjectReference":
        """Refer to an AppWrapper, whose outline in caches has neither apiVersion nor kind."""
        return cls(API_VERSION, KIND, appwrapper.namespace, appwrapper.name, appwrapper.uid)


_Kind = tuple[str, EventType, str]  # UID, type, reason
_Key = tuple[str, EventType, str, str]  # with the message; empty: the combined event


@dataclass(slots=True)
class _Messages:
    """How many different messages of one `_Kind` there were since `begun_at`."""

    begun_at: float  # monotonic
    number: int = 0


@dataclass(slots=True)
class _RepeatedEvent:
    """One event and how often it happened."""

    about: ObjectReference
    type: EventType
    reason: str
    message: str
    first: datetime
    last: datetime
    key: _Key
    begun_at: float  # monotonic
    name: str  # the end of the Event object's name
    count: int = 1
    queued: bool = False
    written_at: float | None = None


class EventRecorder:
    """Record events. `component` is this program's name in them, `instance` its replica's."""

    def __init__(
        self, client: KubeClient, clock: Clock, *, component: str, instance: str = ""
    ) -> None:
        self._client = client
        self._clock = clock
        self._component = component
        self._instance = instance
        self._events: OrderedDict[_Key, _RepeatedEvent] = OrderedDict()
        self._messages: OrderedDict[_Kind, _Messages] = OrderedDict()
        self._queue: deque[_RepeatedEvent] = deque()
        self._wake = asyncio.Event()
        self._ending = False
        self._number = 0  # Events so far

    def normal(self, about: ObjectReference, reason: str, message: str) -> None:
        """Report progress. `reason` is a CamelCase word, `message` a sentence. Never raise."""
        self._record(about, EventType.NORMAL, reason, message)

    def warning(self, about: ObjectReference, reason: str, message: str) -> None:
        """Report trouble. Never raise."""
        self._record(about, EventType.WARNING, reason, message)

    async def run(self) -> None:
        """Write events until cancelled, or until `drain` was called and all are written."""
        while True:
            while self._queue:
                await self._write(self._queue.popleft())
            if self._ending:
                return
            self._wake.clear()
            await self._wake.wait()

    def drain(self) -> None:
        """Make `run` write the events recorded so far and then return."""
        self._ending = True
        self._wake.set()

    def _record(
        self, about: ObjectReference, event_type: EventType, reason: str, message: str
    ) -> None:
        now = self._clock.monotonic()
        key = self._key((about.uid, event_type, reason), _clipped(message), now)
        text = _clipped(message if key[3] else COMBINED + message)
        event = self._events.get(key)
        if event is not None and now - event.begun_at < SAME_SECONDS:
            event.count += 1
            event.last = self._clock.now()
            event.message = text
            if event.written_at is None or now - event.written_at < COUNT_SECONDS:
                return
        else:
            wall = self._clock.now()
            event = _RepeatedEvent(
                about, event_type, reason, text, wall, wall, key, now, self._name(wall)
            )
            self._events[key] = event
        self._events.move_to_end(key)
        while len(self._events) > REMEMBERED:
            self._events.popitem(last=False)
        self._enqueue(event)

    def _name(self, wall: datetime) -> str:
        """Return nanoseconds in hexadecimal, as client-go's recorder names Events.

        The times of Events have whole seconds: the names order Events within a second.
        """
        self._number += 1
        microseconds = (wall - _EPOCH) // timedelta(microseconds=1)
        return f"{microseconds * 1000 + self._number % 1000:016x}"

    def _key(self, kind: _Kind, message: str, now: float) -> _Key:
        """Return the key under which this event is counted."""
        key = (*kind, message)
        known = self._events.get(key)
        if known is not None and now - known.begun_at < SAME_SECONDS:
            return key
        messages = self._messages.get(kind)
        if messages is None or now - messages.begun_at >= SAME_SECONDS:
            messages = self._messages[kind] = _Messages(now)
        self._messages.move_to_end(kind)
        while len(self._messages) > REMEMBERED:
            self._messages.popitem(last=False)
        if messages.number >= DIFFERENT_MESSAGES:
            return (*kind, "")
        messages.number += 1
        return key

    def _enqueue(self, event: _RepeatedEvent) -> None:
        if event.queued:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            logger.warning("an event is lost, too many wait: %s", event.reason, extra=_about(event))
            if event.written_at is None:
                self._forget(event)
            return
        event.queued = True
        self._queue.append(event)
        self._wake.set()

    async def _write(self, event: _RepeatedEvent) -> None:
        event.queued = False
        namespace = event.about.namespace or "default"
        name = f"{event.about.name[:_NAME_LIMIT]}.{event.name}"
        try:
            if event.written_at is None:
                await self._client.create(EVENTS, namespace, self._event(event, namespace, name))
            else:
                seen = {
                    "count": event.count,
                    "lastTimestamp": format_time(event.last),
                    "message": event.message,
                }
                await self._client.patch(EVENTS, namespace, name, seen, PatchType.MERGE)
        except NotFound:
            # The Event has expired, or its namespace is gone. The next write creates a new Event.
            self._forget(event)
        except KubeError as error:
            logger.warning("an event is lost: %s: %s", event.reason, error, extra=_about(event))
            if event.written_at is None:
                self._forget(event)
        else:
            event.written_at = self._clock.monotonic()

    def _forget(self, event: _RepeatedEvent) -> None:
        if self._events.get(event.key) is event:
            del self._events[event.key]

    def _event(self, event: _RepeatedEvent, namespace: str, name: str) -> JsonObject:
        about = event.about
        involved = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "name": about.name,
            "uid": about.uid,
        }
        if about.namespace:
            involved["namespace"] = about.namespace
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "type": event.type.value,
            "reason": event.reason,
            "message": event.message,
            "count": event.count,
            "firstTimestamp": format_time(event.first),
            "lastTimestamp": format_time(event.last),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _about(event: _RepeatedEvent) -> dict[str, object]:
    """Return the fields of a log line. Messages may quote users' text, so no log holds them."""
    about = event.about
    return object_fields(about.namespace, about.name, about.uid, reason=event.reason)


def _clipped(message: str) -> str:
    return message.encode()[:MESSAGE_LIMIT].decode(errors="ignore")
