"""A validating webhook of somebody else's that judges what one AppWrapper wraps."""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from shared.api.json import JsonObject
from shared.api.names import LABEL_APPWRAPPER
from shared.clock import SystemClock
from shared.kube.client import KubeClient, Propagation
from shared.kube.resource import Resource
from tests.builders.certificates import self_signed

CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
NAME = "third.party.example.com"
# What it answers to the n-th request, from 1: the `response` of an AdmissionReview but for the UID.
Judge = Callable[[int], JsonObject]
ALLOWED: JsonObject = {"allowed": True}


class Asked:
    """How often it was asked so far."""

    def __init__(self) -> None:
        self.times = 0


def denied(code: int, message: str, **status: object) -> JsonObject:
    """A refusal with that HTTP status code."""
    return {"allowed": False, "status": {"code": code, "message": message, **status}}


@asynccontextmanager
async def judging(
    client: KubeClient, folder: Path, appwrapper: str, judge: Judge
) -> AsyncIterator[Asked]:
    """The API server asks it about every ConfigMap that the AppWrapper is to get."""
    asked = Asked()

    async def review(request: web.Request) -> web.Response:
        asked.times += 1
        body = await request.json()
        response = {"uid": body["request"]["uid"], **judge(asked.times)}
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


@asynccontextmanager
async def registered(
    client: KubeClient, appwrapper: str, url: str, certificate: bytes
) -> AsyncIterator[None]:
    """The API server asks whoever answers at `url`; where nobody does it refuses."""
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
        "timeoutSeconds": 5,
    }
    body: JsonObject = {"metadata": {"name": appwrapper}, "webhooks": [webhook]}
    await client.create(CONFIGURATIONS, None, body)
    # API servers learn of it a moment later; whether they have is asked nobody.
    await asyncio.sleep(2)
    try:
        yield
    finally:
        await client.delete(
            CONFIGURATIONS, None, appwrapper, uid=None, propagation=Propagation.BACKGROUND
        )
