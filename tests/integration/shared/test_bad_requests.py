"""Bad requests on the webhook's own port: each is answered in time, and so is everybody else."""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from tests.fuzz.promises import check_answer, patched
from tests.support.builders.admission import POD, appwrapper, component, review
from tests.support.builders.large_appwrappers import large
from tests.support.cluster.served_webhook import (
    GOOD,
    PATHS,
    SECONDS,
    ServedWebhook,
    connected,
    head,
    serving,
)
from tests.support.fakes.in_process_webhook import Answer
from webhook.admission_review import LARGEST_BODY
from webhook.serving.bodies import LONGEST_UPLOAD


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def webhook(
    tmp_path_factory: pytest.TempPathFactory, cluster: RunningCluster
) -> AsyncIterator[ServedWebhook]:
    async with serving(tmp_path_factory.mktemp("webhook"), cluster) as served:
        yield served


NO_REVIEW = {
    "nothing": (b"", "the body is not JSON: "),
    "a half": (GOOD[:-40], "the body is not JSON: "),
    "no UTF-8": (GOOD.replace(b"alice", b"al\xffce"), "the body is not JSON: "),
    "half a surrogate": (GOOD.replace(b"alice", b"\\ud800"), "the body is not JSON: "),
    "NaN": (GOOD.replace(b'"7"', b"NaN"), "the body is not JSON: "),
    "Infinity": (GOOD.replace(b'"7"', b"-Infinity"), "the body is not JSON: "),
    "a number beyond any": (GOOD.replace(b'"7"', b"1e400"), "the body is not JSON: "),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, "the body is not JSON: "),
    "a NUL behind": (GOOD + b"\x00", "the body is not JSON: "),
    "two reviews": (GOOD + GOOD, "the body is not JSON: "),
    "endless depth": (b"[" * 1_000_000, "the body is not JSON: "),
    "null": (b"null", "the body is not a JSON object\n"),
    "a list": (b"[" + GOOD + b"]", "the body is not a JSON object\n"),
    "an AppWrapper": (
        orjson.dumps(appwrapper()),
        "the body is not an AdmissionReview of admission.k8s.io/v1\n",
    ),
    "another version": (
        GOOD.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
        "the body is not an AdmissionReview of admission.k8s.io/v1\n",
    ),
    "no request": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}',
        "the AdmissionReview has no request\n",
    ),
    "a UID that is none": (
        GOOD.replace(b'"uid":"7"', b'"uid":7'),
        "the AdmissionReview's request has no uid\n",
    ),
    "a UID of a megabyte": (
        GOOD.replace(b'"uid":"7"', b'"uid":"%s"' % (b"7" * (1 << 20))),
        "the request's uid has more than 253 characters\n",
    ),
}


@pytest.mark.parametrize("body", NO_REVIEW)
async def test_a_malformed_review_gets_400(webhook: ServedWebhook, body: str) -> None:
    sent, text = NO_REVIEW[body]
    for path in PATHS:
        answer = await webhook.post(path, sent)
        assert (answer.status_code, answer.text[: len(text)]) == (400, text)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    await webhook.serves()


def of(template: Any, **fields: Any) -> bytes:
    return orjson.dumps(review(appwrapper(component(template, **fields))))


DEEP = b"[" * 300 + b"]" * 300
# What is judged under its UID: HTTP status 200, the code, and how the message begins or ends.
JUDGED = {
    "no object": (orjson.dumps(review(None)), 400, "request.object is missing or empty"),
    "nobody": (
        orjson.dumps(review(appwrapper(), userInfo={})),
        400,
        "request.userInfo.username is missing",
    ),
    "300 levels": (
        of({**POD, "x": 1}).replace(b'"x":1', b'"x":' + DEEP),
        400,
        "the request is nested deeper than 250 levels",
    ),
    "150 levels": (
        of({**POD, "x": 1}).replace(b'"x":1', b'"x":' + DEEP[150:450]),
        422,
        "spec.components[0].template: Invalid value: nested too deep: at most 100 levels of "
        "objects and arrays are allowed",
    ),
    "a template that is a string": (of("Pod"), 422, "template: Invalid value: must be an object"),
    "a template that is a list": (of([POD]), 422, "template: Invalid value: must be an object"),
    "an unknown Kind": (
        of({"apiVersion": "example.com/v1", "kind": "Thing"}),
        422,
        "spec.components[0].template: Forbidden: example.com/Thing may not be wrapped; `kubectl",
    ),
    "a Kind that climbs": (
        of({"apiVersion": "../../../v1", "kind": "Pod"}),
        422,
        'Invalid value: "../../../v1": must be a version such as v1, or group and version such as '
        "batch/v1",
    ),
    "huge replicas": (
        of(POD, podSets=[{"path": "template", "replicas": 1}]).replace(
            b'"replicas":1', b'"replicas":123456789012345678901234567890'
        ),
        422,
        "spec.components[0].podSets",
    ),
}


@pytest.mark.parametrize("body", JUDGED)
async def test_a_malformed_review_is_refused_under_its_uid(
    webhook: ServedWebhook, body: str
) -> None:
    sent, code, text = JUDGED[body]
    found = await webhook.post("/validate", sent)
    response = check_answer(Answer(found.status_code, found.content), sent)
    assert response is not None
    assert (response["uid"], response["allowed"]) == ("7", False)
    assert response["status"]["code"] == code
    assert text in response["status"]["message"]
    mutated = await webhook.post("/mutate", sent)
    check_answer(Answer(mutated.status_code, mutated.content), sent)


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_of_seven_mebibytes_is_read_and_no_larger_one(
    webhook: ServedWebhook, chunked: bool
) -> None:
    async def pieces(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    largest = GOOD + b" " * (LARGEST_BODY - len(GOOD))
    for body, status in ((largest, 200), (largest + b" ", 413)):
        async with asyncio.timeout(SECONDS):
            content = pieces(body) if chunked else body
            try:
                answer = await webhook.http.post("/validate", content=content)
            except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
                # It need not read on: the rest came to a closed connection.
                assert status == 413
            else:
                assert answer.status_code == status
    await webhook.serves()


async def test_an_object_near_the_largest_is_admitted(
    webhook: ServedWebhook, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted = large(922 << 10)
    took: dict[str, list[float]] = {path: [] for path in PATHS}
    for _ in range(5):
        made = review(submitted)
        for path in PATHS:
            body = orjson.dumps(made)
            began = time.perf_counter()
            answer = await webhook.post(path, body)
            took[path].append(time.perf_counter() - began)
            response = check_answer(Answer(answer.status_code, answer.content), body)
            assert response is not None
            assert response["allowed"], response
            made = review(patched(submitted, response))
    shown = [f"{path} {statistics.median(each) * 1000:.0f} ms" for path, each in took.items()]
    with capsys.disabled():
        sys.stdout.write(f"\nan object of {len(body) >> 10} KiB: {', '.join(shown)} (median)\n")


# Connections that do not behave. Everybody else is served meanwhile.


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    async with asyncio.timeout(SECONDS + LONGEST_UPLOAD):
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        [length] = [line[16:] for line in lines if line.lower().startswith(b"content-length: ")]
        return int(lines[0].split()[1]), await reader.readexactly(int(length))


async def test_a_slow_body_is_awaited_and_delays_no_other_request(webhook: ServedWebhook) -> None:
    reader, writer = await connected(webhook.port)
    writer.write(head(len(GOOD)))
    for start in range(0, len(GOOD), 400):  # few: LONGEST_UPLOAD limits all of them together
        writer.write(GOOD[start : start + 400])
        await writer.drain()
        await webhook.serves()
    status, body = await answered(reader)
    assert (status, orjson.loads(body)["response"]) == (200, {"uid": "7", "allowed": True})
    writer.close()


async def test_missing_bodies_delay_no_other_request_and_are_abandoned(
    webhook: ServedWebhook,
) -> None:
    waiting = [await connected(webhook.port) for _ in range(50)]
    for number, (_, writer) in enumerate(waiting):
        writer.write(head(len(GOOD)) + GOOD[: number * 5])
        await writer.drain()
    began = time.monotonic()
    await webhook.serves()
    assert time.monotonic() - began < LONGEST_UPLOAD
    for reader, writer in waiting:
        status, body = await answered(reader)
        assert (status, body) == (408, b"the body did not come within 10 s\n")
        assert await reader.read() == b""  # the connection is closed
        writer.close()
    await webhook.serves()


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\r\n\r\n" * 50, b"GARBAGE / HTTP/9\r\n\r\n", b"POST\r\n\r\n", head(10**30)],
)
async def test_garbage_ends_its_own_connection_only(webhook: ServedWebhook, garbage: bytes) -> None:
    for before in (b"", head(len(GOOD)) + GOOD):
        reader, writer = await connected(webhook.port)
        writer.write(before + garbage)
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
        assert b"HTTP/1.1 400 Bad Request" in answer
        writer.close()
        await webhook.serves()


async def test_requests_in_a_row_are_answered_in_a_row(webhook: ServedWebhook) -> None:
    reader, writer = await connected(webhook.port)
    writer.write((head(len(GOOD)) + GOOD + head(2) + b"{}") * 20)
    for _ in range(20):
        status, body = await answered(reader)
        assert (status, orjson.loads(body)["response"]) == (200, {"uid": "7", "allowed": True})
        assert (await answered(reader))[0] == 400
    writer.close()


async def test_a_client_without_tls_is_disconnected(webhook: ServedWebhook) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", webhook.port)
    writer.write(head(len(GOOD)) + GOOD)
    async with asyncio.timeout(SECONDS):
        with suppress(ConnectionError):
            assert b"allowed" not in await reader.read()
    writer.close()
    await webhook.serves()


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(webhook: ServedWebhook) -> None:
    for _ in range(20):
        _, writer = await connected(webhook.port)
        writer.write(head(len(GOOD)) + GOOD[:100])
        await writer.drain()
        writer.transport.abort()
    await webhook.serves()


async def test_a_body_that_never_comes_does_not_keep_it_from_ending(
    tmp_path: Path, cluster: RunningCluster
) -> None:
    async with serving(tmp_path, cluster) as own:
        _, writer = await connected(own.port)
        writer.write(head(len(GOOD)) + GOOD[:100])
        await writer.drain()
        await own.serves()
        own.process.ask_to_end()
        assert await own.process.ended() == 0
        writer.close()


async def test_none_of_this_was_a_bug(webhook: ServedWebhook) -> None:
    """The last of this file's tests: what the process logged meanwhile."""
    assert not any("a rule failed" in message for message in webhook.process.messages)
    assert not any("Traceback" in line for line in webhook.process.lines)
    assert webhook.process.process.returncode is None
