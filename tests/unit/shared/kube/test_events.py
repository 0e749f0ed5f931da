import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shared.api.appwrapper import AppWrapper
from shared.api.objects import EVENTS
from shared.kube.client import Forbidden, NotFound, PatchType, Unreachable
from shared.kube.events import QUEUE_LIMIT, EventRecorder, ObjectReference
from tests.support.fakes.fake_clock import FakeClock, settle
from tests.support.fakes.fake_kube import FakeKube, kube_object

WRAPPER = ObjectReference("workload.codeflare.dev/v1beta2", "AppWrapper", "team1", "a", "u")
OK: dict[str, Any] = {}


class Recording:
    """A recorder whose writer runs, its clock and what it wrote."""

    def __init__(self, *creates: object, patches: list[object] | None = None) -> None:
        self.client = FakeKube(answers={"create": list(creates), "patch": patches or []})
        self.clock = FakeClock()
        self.recorder = EventRecorder(
            self.client, self.clock, component="controller", instance="pod-1"
        )

    @property
    def created(self) -> list[dict[str, Any]]:
        return [call.args[2] for call in self.client.called("create")]

    @property
    def counted(self) -> list[dict[str, Any]]:
        return [call.args[3] for call in self.client.called("patch")]

    def tell(self, message: str = "m", reason: str = "R") -> None:
        self.recorder.warning(WRAPPER, reason, message)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.recorder.run())
        yield
        self.recorder.drain()
        await task


async def test_an_event_names_its_object() -> None:
    recording = Recording(OK)
    async with recording.running():
        recording.recorder.normal(WRAPPER, "Running", "all pods run")
    (event,) = recording.created
    name = event["metadata"].pop("name")
    assert name.startswith("a.")
    assert len(name) == len("a.") + 16
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "team1"},
        "involvedObject": {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "namespace": "team1",
            "name": "a",
            "uid": "u",
        },
        "type": "Normal",
        "reason": "Running",
        "message": "all pods run",
        "count": 1,
        "firstTimestamp": "2026-01-01T12:00:00Z",
        "lastTimestamp": "2026-01-01T12:00:00Z",
        "source": {"component": "controller"},
        "reportingComponent": "controller",
        "reportingInstance": "pod-1",
    }
    assert recording.client.called("create")[0].args[:2] == (EVENTS, "team1")


async def test_an_event_of_a_cluster_wide_object_is_written_in_default() -> None:
    recording = Recording(OK)
    async with recording.running():
        recording.recorder.warning(ObjectReference("v1", "Node", "", "n", "u"), "R", "m")
    (event,) = recording.created
    assert event["metadata"]["namespace"] == "default"
    assert event["type"] == "Warning"
    assert "namespace" not in event["involvedObject"]


async def test_the_same_event_is_counted_at_most_every_30_seconds() -> None:
    recording = Recording(OK, patches=[OK])
    async with recording.running():
        recording.tell()
        await settle()
        for seconds in (10, 19.9):
            recording.clock.pass_by(seconds)
            recording.tell()
        await settle()
        assert recording.counted == []
        recording.clock.pass_by(0.1)
        recording.tell()
        await settle()
    assert len(recording.created) == 1
    assert recording.counted == [
        {"count": 4, "lastTimestamp": "2026-01-01T12:00:30Z", "message": "m"}
    ]
    call = recording.client.called("patch")[0]
    assert call.args[2] == recording.created[0]["metadata"]["name"]
    assert call.args[4] is PatchType.MERGE


async def test_after_ten_minutes_it_is_a_new_event() -> None:
    recording = Recording(OK, OK)
    async with recording.running():
        recording.tell()
        await settle()
        recording.clock.pass_by(600)
        recording.tell()
    assert len(recording.created) == 2


async def test_another_reason_or_message_or_object_is_another_event() -> None:
    recording = Recording(OK, OK, OK, OK)
    async with recording.running():
        recording.tell()
        recording.tell(message="n")
        recording.tell(reason="S")
        other = ObjectReference("v1", "Pod", "team1", "a", "another uid")
        recording.recorder.warning(other, "R", "m")
    assert len(recording.created) == 4


async def test_repetitions_before_the_first_is_written_are_in_its_count() -> None:
    recording = Recording(OK)
    for _ in range(3):
        recording.tell()
    async with recording.running():
        pass
    assert [event["count"] for event in recording.created] == [3]


async def test_a_refused_event_is_lost_and_the_next_one_is_new() -> None:
    recording = Recording(Forbidden(403, "Forbidden", "no"), Unreachable("x"), OK)
    async with recording.running():
        for _ in range(3):
            recording.tell()
            await settle()
    assert [event["count"] for event in recording.created] == [1, 1, 1]


async def test_an_expired_event_is_created_again() -> None:
    recording = Recording(OK, OK, patches=[NotFound(404, "NotFound", "m")])
    async with recording.running():
        recording.tell()
        await settle()
        recording.clock.pass_by(30)
        recording.tell()
        await settle()
        recording.tell()
    assert [event["count"] for event in recording.created] == [1, 1]


async def test_a_flood_of_different_messages_becomes_one_event() -> None:
    recording = Recording(*[OK] * 11, patches=[OK])
    async with recording.running():
        for number in range(100):
            recording.tell(message=f"m{number}")
            await settle()
        recording.clock.pass_by(30)
        recording.tell(message="m100")
        await settle()
    messages = [event["message"] for event in recording.created]
    assert messages == [*(f"m{n}" for n in range(10)), "(combined from similar events): m10"]
    assert recording.counted == [
        {
            "count": 91,
            "lastTimestamp": "2026-01-01T12:00:30Z",
            "message": "(combined from similar events): m100",
        }
    ]


async def test_a_flood_drowns_neither_what_is_known_nor_other_reasons() -> None:
    recording = Recording(*[OK] * 12, patches=[OK])
    async with recording.running():
        for number in range(11):
            recording.tell(message=f"m{number}")
        recording.tell(message="other", reason="S")
        await settle()
        recording.clock.pass_by(30)
        recording.tell(message="m3")
        await settle()
    assert recording.created[-1]["message"] == "other"
    assert [each["message"] for each in recording.counted] == ["m3"]


async def test_ten_minutes_after_its_beginning_a_flood_is_forgotten() -> None:
    recording = Recording(*[OK] * 12)
    async with recording.running():
        for number in range(11):
            recording.tell(message=f"m{number}")
        recording.clock.pass_by(600)
        recording.tell(message="new")
    assert recording.created[-1]["message"] == "new"


async def test_the_number_of_waiting_events_is_bounded() -> None:
    recording = Recording(*[OK] * QUEUE_LIMIT)
    for number in range(QUEUE_LIMIT + 10):
        recording.tell(reason=f"R{number}")
    async with recording.running():
        pass
    assert len(recording.created) == QUEUE_LIMIT


async def test_long_texts_are_cut() -> None:
    recording = Recording(OK)
    long = ObjectReference("v1", "Pod", "team1", "x" * 253, "u")
    async with recording.running():
        recording.recorder.normal(long, "R", "y" * 5000)
    (event,) = recording.created
    assert len(event["message"]) == 1024
    assert len(event["metadata"]["name"]) == 253


def test_a_reference_to_an_appwrapper_needs_no_kind_in_it() -> None:
    outline = AppWrapper(kube_object("a", 1, uid="u"))
    assert ObjectReference.to(outline) == ObjectReference(
        "workload.codeflare.dev/v1beta2", "AppWrapper", "team1", "a", "u"
    )


async def test_names_are_in_the_order_of_events() -> None:
    """Times have whole seconds: names tell apart what happens within one, as client-go's do."""
    recording = Recording(*[OK] * 4)
    async with recording.running():
        for message in ("first", "second", "third"):
            recording.tell(message)
        await recording.clock.advance(0.001)
        recording.tell("fourth")
    names = [each["metadata"]["name"] for each in recording.created]
    assert [each["message"] for each in recording.created] == ["first", "second", "third", "fourth"]
    assert names == sorted(set(names))
