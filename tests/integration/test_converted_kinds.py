"""A Kind that is stored in another version than the one that is wrapped."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from localcluster.cluster import LocalCluster
from shared.api.conditions import condition
from shared.api.json import JsonObject
from shared.clock import SystemClock
from shared.kube.client import KubeClient, Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.certificates import self_signed
from tests.support.builders.operated_kinds import leader_worker_set
from tests.support.cluster.followed import followed, said, until_said
from tests.support.cluster.life import exists
from tests.support.cluster.resources import CRDS, LEADER_WORKER_SETS
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

DEFINITION = "leaderworkersets.leaderworkerset.x-k8s.io"
# As it is where nobody listens.
NOBODY = "https://127.0.0.1:1/"


@pytest.fixture
def client(cluster: LocalCluster) -> KubeClient:
    return cluster.client


def by_nobody() -> JsonObject:
    now = SystemClock().now()
    certificate, _ = self_signed(1, now - timedelta(hours=1), now + timedelta(days=1))
    called = {"url": NOBODY, "caBundle": base64.b64encode(certificate).decode()}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": called}
    return {"strategy": "Webhook", "webhook": webhook}


@asynccontextmanager
async def stored_as_v0(client: KubeClient, conversion: JsonObject) -> AsyncIterator[None]:
    """LeaderWorkerSet v1 is served; v0 is served and stored."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": anything}
    body: JsonObject = {
        "metadata": {
            "name": DEFINITION,
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": LEADER_WORKER_SETS.group,
            "names": {"kind": LEADER_WORKER_SETS.kind, "plural": LEADER_WORKER_SETS.plural},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": False, "schema": schema},
                {"name": "v0", "served": True, "storage": True, "schema": schema},
            ],
            "conversion": conversion,
        },
    }
    await client.create(CRDS, None, body)

    async def is_established() -> bool:
        found = await client.get(CRDS, None, DEFINITION)
        told = condition(found.get("status", {}).get("conditions") or (), "Established")
        return (told or {}).get("status") == "True"

    try:
        await comes_to(is_established, True)
        yield
    finally:
        await client.delete(CRDS, None, DEFINITION, uid=None, propagation=Propagation.BACKGROUND)
        await comes_to(lambda: exists(client, CRDS, None, DEFINITION), False)


async def test_it_is_created_watched_and_deleted_in_the_wrapped_version(
    client: KubeClient,
) -> None:
    body = appwrapper("converted", leader_worker_set("converted"))
    async with (
        stored_as_v0(client, {"strategy": "None"}),
        followed(client, NAMESPACE, body) as life,
    ):
        running = await life.until_phase("Running")
        recorded = running["status"]["componentStatus"][0]["apiVersion"]
        assert recorded == "leaderworkerset.x-k8s.io/v1"
        await client.delete(
            LEADER_WORKER_SETS, NAMESPACE, "converted", uid=None, propagation=Propagation.BACKGROUND
        )
        failed = await life.until_phase("Failed")
        message = "deleted by somebody else: LeaderWorkerSet converted"
        assert said(failed, "Unhealthy") == ("True", "MissingComponent", message)


async def test_a_conversion_that_fails_is_told_and_waited_for(client: KubeClient) -> None:
    body = appwrapper("unconverted", leader_worker_set("unconverted"))
    async with (
        stored_as_v0(client, by_nobody()),
        followed(client, NAMESPACE, body) as life,
    ):
        held = await until_said(life, "ResourcesDeployed", "CreateFailed")
        status, _, message = said(held, "ResourcesDeployed")
        assert status == "True"
        assert message.startswith("spec.components[0]: 500 ")
        assert "conversion webhook for leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet" in message
    assert "Failed" not in life.phases()
