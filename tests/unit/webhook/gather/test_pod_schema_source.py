"""The schema of pods is read at the start, kept through trouble, and read anew after an upgrade."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shared.kube.client import Forbidden, KubeError, NotFound, Unreachable
from shared.pod_schema.pod_schema import POD, POD_TEMPLATE, PodSchemaError
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube
from webhook.gather.pod_schema_source import READ_PERIOD, PodSchemaSource

AWAY = Unreachable("GET /openapi/v3: refused")


def index(content: str) -> dict[str, Any]:
    """The API server's list of documents, the core group's with the hash of its `content`."""
    address = f"/openapi/v3/api/v1?hash={content}"
    return {"paths": {"api": {}, "api/v1": {"serverRelativeURL": address}}}


def document(*fields: str) -> dict[str, Any]:
    properties = {field: {"type": "string"} for field in fields}
    return {
        "components": {
            "schemas": {POD: {"properties": {}}, POD_TEMPLATE: {"properties": properties}}
        }
    }


def source(*answers: object) -> tuple[PodSchemaSource, FakeKube, FakeClock]:
    client, clock = FakeKube(answers={"get_path": list(answers)}), FakeClock()
    return PodSchemaSource(client, clock), client, clock


def paths(client: FakeKube) -> list[str]:
    return [call.args[0] for call in client.called("get_path")]


def knows(tested: PodSchemaSource, field: str) -> bool:
    schema = tested.current()
    assert schema is not None
    return not list(schema.template_mistakes({field: "x"}))


@asynccontextmanager
async def running(tested: PodSchemaSource) -> AsyncIterator[None]:
    task = asyncio.create_task(tested.run())
    yield
    assert not task.done()
    task.cancel()


async def test_nothing_is_known_before_the_first_answer() -> None:
    tested, _, _ = source()
    assert tested.current() is None
    assert tested.problem() == (
        "the schema of pods is not known yet: the API server was not asked yet"
    )


async def test_the_document_that_the_index_names_is_read() -> None:
    tested, client, _ = source(index("1"), document("spec"))
    await tested.load()
    assert paths(client) == ["/openapi/v3", "/openapi/v3/api/v1?hash=1"]
    assert tested.problem() is None
    assert (knows(tested, "spec"), knows(tested, "spek")) == (True, False)


async def test_while_nothing_changes_only_the_index_is_read_again() -> None:
    tested, client, clock = source(index("1"), document("spec"), index("1"))
    async with running(tested):
        await clock.advance(READ_PERIOD - 1)
        assert len(paths(client)) == 2
        before = tested.current()
        await clock.advance(1)
        assert paths(client)[2:] == ["/openapi/v3"]
        assert tested.current() is before


async def test_a_field_of_a_newer_api_server_is_known_after_the_next_look() -> None:
    tested, client, clock = source(index("1"), document("old"), index("2"), document("old", "new"))
    async with running(tested):
        await clock.advance(0)
        assert not knows(tested, "new")
        await clock.advance(READ_PERIOD)
        assert knows(tested, "new")
        assert paths(client)[2:] == ["/openapi/v3", "/openapi/v3/api/v1?hash=2"]


async def test_an_api_server_that_is_away_is_asked_until_it_answers() -> None:
    tested, _, clock = source(*[AWAY] * 9, index("1"), document("spec"))
    async with running(tested):
        await clock.advance(0)
        assert tested.problem() == ("the schema of pods is not known yet: GET /openapi/v3: refused")
        await clock.advance(60)
        assert clock.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0, READ_PERIOD]
        assert tested.problem() is None


async def test_trouble_later_keeps_what_is_known_and_is_soon_over() -> None:
    tested, _, clock = source(
        index("1"), document("spec"), AWAY, index("2"), AWAY, index("2"), document("new")
    )
    async with running(tested):
        await clock.advance(READ_PERIOD)
        assert tested.problem() is None
        assert knows(tested, "spec")
        await clock.advance(1)
        assert knows(tested, "new")
        assert clock.slept == [READ_PERIOD, 0.2, 0.4, READ_PERIOD]


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([Forbidden(403, "Forbidden", "no")], Forbidden),
        ([NotFound(404, "NotFound", "old")], NotFound),
        ([index("1"), AWAY], Unreachable),
    ],
)
async def test_one_read_reports_the_error(answers: Any, error: type[KubeError]) -> None:
    tested, _, _ = source(*answers)
    with pytest.raises(error) as caught:
        await tested.load()
    assert tested.problem() == f"the schema of pods is not known yet: {caught.value}"


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([{}], "/openapi/v3 names no document for api/v1"),
        ([{"paths": {"api/v1": {}}}], "/openapi/v3 names no document for api/v1"),
        ([index("1"), {}], "the OpenAPI document has no components.schemas"),
    ],
)
async def test_an_answer_that_is_no_schema_is_trouble_too(answers: Any, error: str) -> None:
    tested, _, _ = source(*answers, index("1"), document("spec"))
    with pytest.raises(PodSchemaError, match=f"^{error}$"):
        await tested.load()
    assert tested.problem() == f"the schema of pods is not known yet: {error}"
    await tested.load()
    assert tested.problem() is None
