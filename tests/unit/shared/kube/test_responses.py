import orjson
import pytest

from shared.api.objects import JsonObject
from shared.kube import responses
from shared.kube.client import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    ListPage,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    WatchEvent,
    WatchEventType,
)
from shared.kube.responses import LineSplitter


def status(reason: str, message: str = "m", **more: object) -> bytes:
    return orjson.dumps({"kind": "Status", "reason": reason, "message": message, **more})


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", ApiError),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ApiError),
    ],
)
def test_each_answer_has_its_class(code: int, reason: str, expected: type[ApiError]) -> None:
    error = responses.error_of(code, {}, status(reason))
    assert type(error) is expected
    assert error == expected(code, reason, "m")


@pytest.mark.parametrize(
    ("body", "of_resource"),
    [
        (status("NotFound", 'jobs.batch "a" not found'), False),
        (status("NotFound", "the server could not find the requested resource"), True),
        (b"404 page not found\n", True),
    ],
    ids=["object", "built-in group", "group of a CRD"],
)
def test_a_404_of_the_resource_is_no_answer_about_its_objects(
    body: bytes, of_resource: bool
) -> None:
    error = responses.error_of(404, {}, body)
    assert isinstance(error, NotFound)
    assert error.of_resource is of_resource


def test_the_delay_of_a_retry_is_read_from_the_header() -> None:
    error = responses.error_of(429, {"Retry-After": "3"}, status("TooManyRequests"))
    assert error == TooManyRequests(429, "TooManyRequests", "m", 3.0)


def test_without_a_header_the_delay_is_read_from_the_details() -> None:
    body = status("ServerTimeout", details={"retryAfterSeconds": 2})
    assert responses.error_of(504, {}, body).retry_after == 2


def test_an_error_keeps_what_people_are_shown() -> None:
    causes = [{"field": "spec.a", "message": "Forbidden: b"}, {"message": "c"}, "d"]
    body = status("Invalid", "m" * 600, details={"causes": causes})
    error = responses.error_of(422, {}, body)
    assert (error.message, error.whole_message) == ("m" * 512, "m" * 600)
    assert [str(each) for each in error.causes] == ["spec.a: Forbidden: b", "c"]


def test_warnings_of_the_server_are_read() -> None:
    headers = {"Warning": '299 - "a \\"b\\" \\\\ c", 299 - "d"', "Date": "x"}
    assert responses.warnings_of(headers) == ['a "b" \\ c', "d"]


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon"])
def test_a_header_that_is_no_number_is_ignored(header: str) -> None:
    assert responses.error_of(429, {"Retry-After": header}, status("x")).retry_after is None


@pytest.mark.parametrize(
    "body", [b"<html>token=secret</html>", b'{"kind":"Secret","data":"secret"}', b'["secret"]', b""]
)
def test_a_body_that_is_no_status_is_not_shown(body: bytes) -> None:
    error = responses.error_of(502, {}, body)
    assert str(error) == (
        "502 Unknown: the answer is not a Status of the API server and is not shown, "
        "it may hold secrets"
    )


def test_a_long_message_is_cut() -> None:
    assert len(responses.error_of(400, {}, status("BadRequest", "x" * 9000)).message) == 512


def test_a_good_answer_is_a_json_object() -> None:
    assert responses.object_of(200, b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("body", [b"ok", b"[]", b"<html>"])
def test_any_other_good_answer_is_none(body: bytes) -> None:
    with pytest.raises(ApiError) as raised:
        responses.object_of(200, body)
    assert raised.value.reason == "NotJSON"


def test_a_page_in_the_middle_and_the_last_one() -> None:
    body = {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [{"a": 1}]}
    assert responses.page_of(body) == (ListPage([{"a": 1}], "7"), "next")
    last = {"metadata": {"resourceVersion": "7"}, "items": None}
    assert responses.page_of(last) == (ListPage([], "7"), "")


@pytest.mark.parametrize(
    "body", [{}, {"status": "ok"}, {"metadata": "x"}, {"metadata": {}, "items": []}]
)
def test_an_answer_without_a_version_is_no_list(body: JsonObject) -> None:
    """A proxy's, while the API server is away: it must not read as "there are none"."""
    with pytest.raises(ApiError) as raised:
        responses.page_of(body)
    assert raised.value == ApiError(
        200, "NotAList", "the answer to a list is no list: is this an API server?"
    )


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
def test_watch_events(kind: str) -> None:
    line = orjson.dumps({"type": kind, "object": {"a": 1}})
    assert responses.watch_event(line) == WatchEvent(WatchEventType(kind), {"a": 1})


def test_an_error_event_with_410_is_gone() -> None:
    error = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    with pytest.raises(Gone) as raised:
        responses.watch_event(orjson.dumps({"type": "ERROR", "object": error}))
    assert raised.value == Gone(410, "Expired", "too old")


def test_another_error_event_raises_its_status() -> None:
    error = {"kind": "Status", "code": 504, "reason": "Timeout", "message": "m"}
    with pytest.raises(ApiError) as raised:
        responses.watch_event(orjson.dumps({"type": "ERROR", "object": error}))
    assert raised.value == ApiError(504, "Timeout", "m")


@pytest.mark.parametrize("code", ["x", None, 0])
def test_an_error_event_without_a_code_is_an_error_all_the_same(code: object) -> None:
    error = {"kind": "Status", "code": code, "message": "m", "details": ["odd"]}
    with pytest.raises(ApiError) as raised:
        responses.watch_event(orjson.dumps({"type": "ERROR", "object": error}))
    assert raised.value == ApiError(500, "Unknown", "m")


@pytest.mark.parametrize("line", [b"{", b"{}", b'{"type":"ADDED"}', b'{"type":"NEW","object":{}}'])
def test_a_line_that_is_no_event_means_a_broken_stream(line: bytes) -> None:
    with pytest.raises(Unreachable, match="watch event"):
        responses.watch_event(line)


def test_lines_are_put_together_across_chunks() -> None:
    lines = LineSplitter()
    assert lines.feed(b"a") == []
    assert lines.unfinished
    assert lines.feed(b"b\nc\n\nd") == [b"ab", b"c"]
    assert lines.unfinished
    assert lines.feed(b"\n") == [b"d"]
    assert not lines.unfinished


def test_a_line_of_many_chunks() -> None:
    lines = LineSplitter()
    for _ in range(1500):
        assert lines.feed(b"x" * 1000) == []
    assert lines.feed(b"\n") == [b"x" * 1_500_000]
