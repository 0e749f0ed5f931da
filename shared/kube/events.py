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

from shared.api.objects import EVENTS, JsonObject
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
    def to(cls, raw: JsonObject) -> "ObjectReference":
        """Refer to an object as the API server returns it, with its apiVersion and kind."""
        metadata = raw["metadata"]
        return cls(
            raw["apiVersion"],
            raw["kind"],
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
        )


_Kind = tuple[str, EventType, str]  # UID, type, reason
_Key = tuple[str, EventType, str, str]  # with the message; empty: the combined event


@dataclass(slots=True)
class _Messages:
    """How many different messages of one `_Kind` there were since `begun_at`."""

    begun_at: float  # monotonic
    number: int = 0


@dataclass(slots=True)
class _Told:
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
        self._told: OrderedDict[_Key, _Told] = OrderedDict()
        self._messages: OrderedDict[_Kind, _Messages] = OrderedDict()
        self._queue: deque[_Told] = deque()
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
        told = self._told.get(key)
        if told is not None and now - told.begun_at < SAME_SECONDS:
            told.count += 1
            told.last = self._clock.now()
            told.message = text
            if told.written_at is None or now - told.written_at < COUNT_SECONDS:
                return
        else:
            wall = self._clock.now()
            told = _Told(about, event_type, reason, text, wall, wall, key, now, self._name(wall))
            self._told[key] = told
        self._told.move_to_end(key)
        while len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        self._enqueue(told)

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
        known = self._told.get(key)
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

    def _enqueue(self, told: _Told) -> None:
        if told.queued:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            logger.warning("an event is lost, too many wait: %s", told.reason, extra=_about(told))
            if told.written_at is None:
                self._forget(told)
            return
        told.queued = True
        self._queue.append(told)
        self._wake.set()

    async def _write(self, told: _Told) -> None:
        told.queued = False
        namespace = told.about.namespace or "default"
        name = f"{told.about.name[:_NAME_LIMIT]}.{told.name}"
        try:
            if told.written_at is None:
                await self._client.create(EVENTS, namespace, self._event(told, namespace, name))
            else:
                seen = {
                    "count": told.count,
                    "lastTimestamp": _timestamp(told.last),
                    "message": told.message,
                }
                await self._client.patch(EVENTS, namespace, name, seen, PatchType.MERGE)
        except NotFound:
            # The Event has expired, or its namespace is gone. The next write creates a new Event.
            self._forget(told)
        except KubeError as error:
            logger.warning("an event is lost: %s: %s", told.reason, error, extra=_about(told))
            if told.written_at is None:
                self._forget(told)
        else:
            told.written_at = self._clock.monotonic()

    def _forget(self, told: _Told) -> None:
        if self._told.get(told.key) is told:
            del self._told[told.key]

    def _event(self, told: _Told, namespace: str, name: str) -> JsonObject:
        about = told.about
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
            "type": told.type.value,
            "reason": told.reason,
            "message": told.message,
            "count": told.count,
            "firstTimestamp": _timestamp(told.first),
            "lastTimestamp": _timestamp(told.last),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _about(told: _Told) -> dict[str, object]:
    """Return the fields of a log line. Messages may quote users' text, so no log holds them."""
    about = told.about
    return object_fields(about.namespace, about.name, about.uid, reason=told.reason)


def _clipped(message: str) -> str:
    return message.encode()[:MESSAGE_LIMIT].decode(errors="ignore")


def _timestamp(moment: datetime) -> str:
    """Format as RFC 3339 in whole seconds, as metav1.Time does."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
