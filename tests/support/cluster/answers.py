"""Sends requests to the API server directly, for tests in which kubectl is not the subject.

A kubectl costs a sixth of a second of CPU time, and adds its own text to the server's.
"""

import asyncio
import io
import json
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext

import aiohttp
from multidict import CIMultiDict

from shared.api.objects import GroupVersionKind, JsonObject
from shared.kube.client import KubeClient
from shared.kube.credentials import RenewedCredential
from shared.kube.discovery import Discovery
from shared.kube.http_client import connect
from shared.kube.kubeconfig import load_credentials
from shared.kube.requests import Request, create
from shared.process.clock import SystemClock
from tests.support.cluster.kubectl import TRIES, UNANSWERED, Kubectl

_WARNING = re.compile(r'299 - "(.*)"')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """An answer: its HTTP code, and the requested object or the Status of the error."""

    code: int
    object: JsonObject
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Returns the message of a Status."""
        return str(self.object["message"])

    @property
    def errors(self) -> list[str]:
        """Returns the errors of an invalid object's Status, as kubectl lists them."""
        causes = self.object["details"]["causes"]
        return [f"{each['field']}: {each['message']}" for each in causes]


async def created(
    who: Kubectl, body: JsonObject, namespace: str, *, dry_run: bool = False
) -> ApiResponse:
    """Creates `body` with this kubectl's identity; with `dry_run` the server only validates it."""
    client = await connect(str(who.kubeconfig))
    try:
        gvk = GroupVersionKind.of(body["apiVersion"], body["kind"])
        resource = await Discovery(client, SystemClock()).resource_for(gvk)
    finally:
        await client.close()
    return await answer(who, create(resource, namespace, body, dry_run=dry_run))


class Asker:
    """Sends requests of any users over one pool of connections; make it with `asker`."""

    def __init__(
        self, session: aiohttp.ClientSession, server: str, tls: SSLContext | None, token: str | None
    ) -> None:
        self._session = session
        self._server = server
        self._tls = tls
        self._token = token

    async def answer(
        self, request: Request, user: str = "", uid: str = "", groups: Iterable[str] = ()
    ) -> ApiResponse:
        """Returns the API server's answer to the request of this user; empty: the kubeconfig's."""
        headers = CIMultiDict(request.headers)
        if self._token:
            headers["Authorization"] = self._token
        named = [("User", user), ("Uid", uid), *(("Group", each) for each in groups)]
        for header, value in named:
            if value:
                headers.add(f"Impersonate-{header}", value)
        async with self._session.request(
            request.method,
            self._server + request.target,
            data=request.body and io.BytesIO(request.body),
            headers=headers,
            ssl=self._tls or True,
        ) as response:
            found = [_WARNING.fullmatch(each) for each in response.headers.getall("Warning", ())]
            warnings = tuple(_ESCAPED.sub(r"\1", each[1]) for each in found if each)
            return ApiResponse(response.status, json.loads(await response.read()), warnings)


@asynccontextmanager
async def asker(kubeconfig: Path) -> AsyncGenerator[Asker, None]:
    """Yields an Asker with this kubeconfig's credentials."""
    credentials = await asyncio.to_thread(load_credentials, str(kubeconfig))
    clock = SystemClock()
    token = await RenewedCredential(credentials.authorization, clock).current()
    tls = await RenewedCredential(credentials.tls, clock).current()
    async with aiohttp.ClientSession() as session:
        yield Asker(session, credentials.server, tls, token)


async def answer(who: Kubectl, request: Request) -> ApiResponse:
    """Returns the API server's answer to any request.

    Retries, as a user would, if the webhook got no answer about the user's rights in time.
    """
    async with asker(who.kubeconfig) as one:
        for _ in range(TRIES):
            response = await one.answer(request, who.user, who.uid, who.groups)
            if not UNANSWERED.search(str(response.object.get("message"))):
                break
    return response


async def is_admin(client: KubeClient, namespace: str, account: str) -> bool:
    """True if the ServiceAccount may do everything."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {"verb": "*", "group": "*", "resource": "*"},
        },
    }
    answer = await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed
