"""Submits one AppWrapper, NAME, and reports the result: for tests of the webhook's rules."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.appwrappers import manifest
from tests.support.builders.wrapped_kinds import pod
from tests.support.cluster.another_team import another_team
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.team import NAMESPACE, own

ANYWHERE = own("cases")  # a namespace of no team; the group `editors` may edit its objects
NAME = "case"
QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
DRY = "--dry-run=server"
_RBAC = "rbac.authorization.k8s.io"
_NAMESPACE: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ANYWHERE}}
_EDITORS: JsonObject = {
    "apiVersion": f"{_RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "edit", "namespace": ANYWHERE},
    "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": "editors"}],
}


@asynccontextmanager
async def namespace_of_no_team(cluster: RunningCluster) -> AsyncGenerator[None, None]:
    """Makes ANYWHERE for a while."""
    async with another_team(cluster, ANYWHERE, [_NAMESPACE, _EDITORS]):
        yield


@asynccontextmanager
async def cleaning_admin(cluster: RunningCluster) -> AsyncGenerator[Kubectl, None]:
    """Yields kubectl as an admin, who deletes NAME at the end."""
    yield admin(cluster)
    for namespace in (NAMESPACE, ANYWHERE):
        await removed(cluster.client, APPWRAPPERS, namespace, NAME)


def wrapped(*components: Any, namespace: str = NAMESPACE, **fields: Any) -> JsonObject:
    """Builds AppWrapper NAME with fields of the metadata; without components of one Pod."""
    return manifest(*components or [pod()], name=NAME, namespace=namespace, **fields)


async def create(who: Kubectl, body: JsonObject, *flags: str) -> Completed:
    return await who.run("create", *flags, "-o", "json", "-f", "-", stdin=json.dumps(body))


async def created(who: Kubectl, body: JsonObject, *flags: str) -> JsonObject:
    """Returns the object that is stored, or would be; asserts that there is no warning."""
    done = await create(who, body, *flags)
    assert (done.code, done.err) == (0, "")
    found: JsonObject = json.loads(done.out)
    return found


async def refusal(who: Kubectl, body: JsonObject) -> str:
    done = await create(who, body, DRY)
    assert done.code == 1
    return done.err


async def patch(who: Kubectl, body: JsonObject, namespace: str = NAMESPACE) -> Completed:
    on_it = ("appwrapper", NAME, "-n", namespace)
    return await who.run("patch", *on_it, "-o", "json", "--type=merge", "-p", json.dumps(body))


def invalid(error: str) -> str:
    return f'The AppWrapper "{NAME}" is invalid: {error}\n'
