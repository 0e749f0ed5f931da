"""A validating webhook of another project that decides about one AppWrapper's content."""

import base64
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import CONFIGMAPS, VALIDATING_WEBHOOK_CONFIGURATIONS, JsonObject
from shared.kube.client import ApiError, KubeClient, Propagation
from shared.process.clock import SystemClock
from tests.support.builders.certificates import self_signed
from tests.support.patience import comes_to

NAME = "third.party.example.com"
# Marks the test's own requests: denied, and not counted.
PROBE = "example.com/probe"
# Returns the answer to the n-th request, from 1: an AdmissionReview's `response` without UID.
Judge = Callable[[int], JsonObject]
ALLOWED: JsonObject = {"allowed": True}


class Asked:
    """Counts the requests so far."""

    def __init__(self) -> None:
        self.times = 0


def denied(code: int, message: str, **status: object) -> JsonObject:
    """Builds a rejection with that HTTP status code."""
    return {"allowed": False, "status": {"code": code, "message": message, **status}}


@asynccontextmanager
async def judging(
    client: KubeClient, folder: Path, appwrapper: str, judge: Judge
) -> AsyncIterator[Asked]:
    """Makes the API server call it for every ConfigMap of the AppWrapper."""
    asked = Asked()

    async def review(request: web.Request) -> web.Response:
        body = await request.json()
        if PROBE in body["request"]["object"]["metadata"]["labels"]:
            verdict = denied(403, "you asked", reason="Forbidden")
        else:
            asked.times += 1
            verdict = judge(asked.times)
        response = {"uid": body["request"]["uid"], **verdict}
        return web.json_response({**body, "request": None, "response": response})

    now = SystemClock().now()
    certificate, key = self_signed(1, now - timedelta(hours=1), now + timedelta(days=1))
    (folder / "pair.pem").write_bytes(certificate + key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(folder / "pair.pem")
    application = web.Application()
    application.router.add_post("/", review)
    runner = web.AppRunner(application)
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listening, ssl_context=tls).start()
    port = listening.getsockname()[1]
    try:
        async with registered(client, appwrapper, f"https://127.0.0.1:{port}/", certificate):
            yield asked
    finally:
        await runner.cleanup()


async def _admits(client: KubeClient, appwrapper: str) -> bool:
    """True while the API server does not call it yet: registrations take a moment."""
    metadata = {"name": "probe", "labels": {LABEL_APPWRAPPER: appwrapper, PROBE: "yes"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    try:
        await client.create(CONFIGMAPS, "default", body, dry_run=True)
    except ApiError as error:
        return NAME not in error.message
    return True


@asynccontextmanager
async def registered(
    client: KubeClient, appwrapper: str, url: str, certificate: bytes
) -> AsyncIterator[None]:
    """Makes the API server call the program at `url`; without a listener it rejects all."""
    webhook = {
        "name": NAME,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(certificate).decode()},
        "objectSelector": {"matchLabels": {LABEL_APPWRAPPER: appwrapper}},
        "rules": [
            {
                "operations": ["CREATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 30,
    }
    body: JsonObject = {"metadata": {"name": appwrapper}, "webhooks": [webhook]}
    await client.create(VALIDATING_WEBHOOK_CONFIGURATIONS, None, body)
    try:
        await comes_to(lambda: _admits(client, appwrapper), False)
        yield
    finally:
        await client.delete(
            VALIDATING_WEBHOOK_CONFIGURATIONS,
            None,
            appwrapper,
            uid=None,
            propagation=Propagation.BACKGROUND,
        )
