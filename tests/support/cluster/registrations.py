"""Changes our two webhook configurations for a while."""

import copy
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from localcluster.access.running import RunningCluster
from shared.api.objects import (
    APPWRAPPERS,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
)
from shared.kube.client import Forbidden, Invalid, KubeClient, NotFound, PatchType
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.patience import comes_to

REGISTRATIONS = {
    "appwrapper-mutating-webhook-configuration": MUTATING_WEBHOOK_CONFIGURATIONS,
    "appwrapper-validating-webhook-configuration": VALIDATING_WEBHOOK_CONFIGURATIONS,
}
Change = Callable[[JsonObject], JsonObject]


@asynccontextmanager
async def changed_registrations(client: KubeClient, change: Change) -> AsyncGenerator[None, None]:
    """`change` returns the replacement of each webhook."""
    before = {name: await _webhooks(client, name) for name in REGISTRATIONS}
    try:
        for name, webhooks in before.items():
            await _write(client, name, [change(copy.deepcopy(each)) for each in webhooks])
        yield
    finally:
        for name, webhooks in before.items():
            # Only the caBundle is kept as it is now: the webhook may have changed it.
            now = {each["name"]: each["clientConfig"] for each in await _webhooks(client, name)}
            kept = [each | {"clientConfig": now[each["name"]]} for each in webhooks]
            await _write(client, name, kept)


@asynccontextmanager
async def unjudged(cluster: RunningCluster, namespace: str) -> AsyncGenerator[None, None]:
    """Hides a namespace, a team's or another, from our webhook."""

    def blind(webhook: JsonObject) -> JsonObject:
        rule = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]}
        selector = webhook.get("namespaceSelector") or {}
        rules = [*(selector.get("matchExpressions") or []), rule]
        return {**webhook, "namespaceSelector": {**selector, "matchExpressions": rules}}

    async with changed_registrations(cluster.client, blind):
        await comes_to(lambda: _answer(cluster.client, namespace), "admitted as it is")
        yield
    await comes_to(lambda: _answer(cluster.client, namespace), "refused")


async def _answer(client: KubeClient, namespace: str) -> str:
    """Returns the answer to a dry run of an invalid object: registrations take a moment."""
    body = appwrapper("probe", job("a"), queued=False, annotations={"retryLimit": "many"})
    try:
        made = await client.create(APPWRAPPERS, namespace, body, dry_run=True)
    except (Forbidden, Invalid):
        return "refused"
    except NotFound:  # Kueue's webhook knows namespaces a moment later
        return "no such namespace yet"
    labels = made["metadata"].get("labels", {})
    return "changed" if "workload.codeflare.dev/user" in labels else "admitted as it is"


async def _webhooks(client: KubeClient, name: str) -> list[JsonObject]:
    found: list[JsonObject] = (await client.get(REGISTRATIONS[name], None, name))["webhooks"]
    return found


async def _write(client: KubeClient, name: str, webhooks: list[JsonObject]) -> None:
    body = {"webhooks": webhooks}
    await client.patch(REGISTRATIONS[name], None, name, body, PatchType.MERGE)
