"""The webhook stands still, has lost a right, or is not asked: what comes of it.

Through the real API server. What goes on while no replica runs is in test_no_webhook.py.
"""

import json
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import job
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.registrations import unjudged
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import CLUSTER_ROLES
from tests.support.cluster.submitted_case import (
    DRY,
    NAME,
    cleaning_admin,
    create,
    patch,
    wrapped,
)
from tests.support.cluster.tries import training
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

ROLE = "appwrapper-webhook"
URI = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{NAMESPACE}/appwrappers"


@pytest_asyncio.fixture(loop_scope="session")
async def admin(cluster: LocalCluster) -> AsyncIterator[Kubectl]:
    async with cleaning_admin(cluster) as command:
        yield command


async def test_a_status_write_asks_no_webhook(cluster: LocalCluster, admin: Kubectl) -> None:
    """Of an AppWrapper that another controller manages, so that ours does not write it."""
    client, status = cluster.client, {"status": {"resettingCount": 3}}
    await client.create(APPWRAPPERS, NAMESPACE, wrapped(spec={"managedBy": "example.com/other"}))
    webhook = cluster.processes["webhook"].pid
    os.kill(webhook, signal.SIGSTOP)
    try:
        await client.patch(
            APPWRAPPERS, NAMESPACE, NAME, status, PatchType.MERGE, subresource="status"
        )
    finally:
        os.kill(webhook, signal.SIGCONT)
    stored = await client.get(APPWRAPPERS, NAMESPACE, NAME)
    assert stored["status"]["resettingCount"] == 3


async def test_a_failed_access_review_admits_no_request(
    cluster: LocalCluster, admin: Kubectl
) -> None:
    """Case 26: not even an admin, since nobody knows that it is one."""
    alice, body = member_of(cluster, NAMESPACE), wrapped(training(NAME))
    role = await cluster.client.get(CLUSTER_ROLES, None, ROLE)
    rules = [one for one in role["rules"] if one["resources"] != ["subjectaccessreviews"]]
    assert len(rules) == len(role["rules"]) - 1

    async def answer_to(who: Kubectl) -> str:
        return (await create(who, body, DRY)).err

    try:
        await _set_rules(cluster, rules)
        for who, name in ((alice, "alice"), (admin, "localcluster-admin")):
            expected = (
                'Error from server (InternalError): error when creating "STDIN": admission webhook '
                f'"vappwrapper.kb.io" denied the request: whether user "{name}" may create '
                "pytorchjobs: 403 Forbidden: "
                "subjectaccessreviews.authorization.k8s.io is forbidden: "
                'User "system:serviceaccount:appwrapper-system:appwrapper-webhook" cannot create '
                'resource "subjectaccessreviews" in API group "authorization.k8s.io" at the '
                "cluster scope\n"
            )
            await comes_to(lambda who=who: answer_to(who), expected)  # type: ignore[misc]
    finally:
        await _set_rules(cluster, role["rules"])
    await comes_to(lambda: answer_to(alice), "")


async def _set_rules(cluster: LocalCluster, rules: list[JsonObject]) -> None:
    await cluster.client.patch(CLUSTER_ROLES, None, ROLE, {"rules": rules}, PatchType.MERGE)


@pytest.mark.parametrize(
    ("levels", "end", "refusal"),
    [(150, "Succeeded", ""), (400, "Failed", "the request is nested deeper than 250 levels")],
)
async def test_an_appwrapper_stored_too_deep_can_be_deleted(
    cluster: LocalCluster, admin: Kubectl, levels: int, end: str, refusal: str
) -> None:
    """It came while nobody asked the webhook. Kueue and the controller deal with it all the same.

    What its Kind does not know the API server drops, so a Job of 150 levels runs.
    """
    body = job(NAME, 1)
    body["spec"]["deep"] = 1
    text = json.dumps(appwrapper(NAME, body))
    deep = text.replace('"deep": 1', f'"deep": {"[" * levels}{"]" * levels}')
    async with unjudged(cluster, NAMESPACE):
        await admin("create", "--raw", URI, "-f", "-", stdin=deep)

    async def ended() -> str:
        return phase(await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME))

    await comes_to(ended, end)
    annotated = await patch(admin, {"metadata": {"annotations": {"note": "x"}}})
    assert (refusal in annotated.err, annotated.code) == (True, 1 if refusal else 0)
    await removed(cluster.client, APPWRAPPERS, NAMESPACE, NAME)
