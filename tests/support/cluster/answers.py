"""What the API server itself answers to somebody: for tests in which kubectl is not the subject.

A kubectl costs a sixth of a second of CPU time, and puts its own words around those of the server.
"""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path

from multidict import CIMultiDictProxy

from shared.api.json import JsonObject
from shared.clock import SystemClock
from shared.kube.connect import connect
from shared.kube.connection import Answer, Connection, Timeouts
from shared.kube.credentials import load_credentials
from shared.kube.discovery import Discovery
from shared.kube.identity import RenewedIdentity
from shared.kube.requests import Request, create
from shared.kube.resource import GroupVersionKind
from shared.kube.tls import RenewedTls
from shared.kube.tokens import RenewedAuthorization
from tests.support.cluster.kubectl import TRIES, UNANSWERED

_WARNING = re.compile(r'299 - "(.*)"')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: its HTTP code, and the object that was asked for or the Status that says no."""

    code: int
    object: JsonObject
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Of a Status: why not."""
        return str(self.object["message"])

    @property
    def errors(self) -> list[str]:
        """Of the Status of an invalid object: each field with its error, as kubectl lists them."""
        causes = self.object["details"]["causes"]
        return [f"{each['field']}: {each['message']}" for each in causes]


async def created(
    kubeconfig: Path, body: JsonObject, namespace: str, *, dry_run: bool = False
) -> Said:
    """Create `body` as whoever the kubeconfig names, or have the server judge it only.

    Asks again, as kubectl's users do, where the webhook had no answer about their rights in time.
    """
    client = await connect(str(kubeconfig))
    try:
        gvk = GroupVersionKind.of(body["apiVersion"], body["kind"])
        resource = await Discovery(client).resource_for(gvk)
    finally:
        await client.close()
    request = create(resource, namespace, body, dry_run=dry_run)
    for _ in range(TRIES):
        answer = await _sent(kubeconfig, request)
        said = Said(answer.status, json.loads(answer.body), _warnings(answer))
        if said.code < 300 or not UNANSWERED.search(said.message):
            break
    return said


def _warnings(answer: Answer) -> tuple[str, ...]:
    assert isinstance(answer.headers, CIMultiDictProxy)
    found = [_WARNING.fullmatch(header) for header in answer.headers.getall("Warning", ())]
    return tuple(_ESCAPED.sub(r"\1", each[1]) for each in found if each)


async def _sent(kubeconfig: Path, request: Request) -> Answer:
    credentials = await asyncio.to_thread(load_credentials, str(kubeconfig))
    clock = SystemClock()
    identity = RenewedIdentity(
        RenewedAuthorization(credentials.authorization, clock), RenewedTls(credentials.tls, clock)
    )
    connection = Connection(
        credentials, timeouts=Timeouts(), pool_size=1, user_agent="appwrapper-tests"
    )
    try:
        return await connection.send(request, await identity.current())
    finally:
        await connection.close()
