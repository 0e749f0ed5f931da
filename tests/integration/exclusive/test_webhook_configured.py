"""Rules of the webhook under other configurations than the default one.

Through the real API server; docs/maintainers/conformance.md says which test shows which rule.
"""

import copy
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, MUTATING_WEBHOOK_CONFIGURATIONS, JsonObject
from shared.config.loading import parse_config
from shared.kube.client import PatchType
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.builders.wrapped_kinds import kind, pod, template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.submitted_case import (
    ANYWHERE,
    DRY,
    NAME,
    QUEUE,
    USER,
    USERID,
    cleaning_admin,
    created,
    invalid,
    namespace_of_no_team,
    patch,
    refusal,
    wrapped,
)
from tests.support.cluster.tries import training
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE
from webhook.registration import registration

MUTATING = "appwrapper-mutating-webhook-configuration"
JOB = kind("batch/v1", "Job", template=template())


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def anywhere(cluster: LocalCluster) -> AsyncIterator[None]:
    async with namespace_of_no_team(cluster):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def admin(cluster: LocalCluster) -> AsyncIterator[Kubectl]:
    async with cleaning_admin(cluster) as command:
        yield command


@pytest_asyncio.fixture(scope="class", loop_scope="session")
async def otherwise(cluster: LocalCluster) -> AsyncIterator[None]:
    changes: JsonObject = {
        "defaultQueueName": "",
        "gracePeriodMaximumPolicy": "Reject",
        "maxPodSets": 2,
        "allowedKinds": {"wrapped": ["Pod"]},
    }
    async with reconfigured(cluster, **changes):
        yield


@pytest.mark.usefixtures("otherwise")
class TestConfiguredOtherwise:
    """No default queue, no lowering of periods, two pods at most."""

    async def test_outside_teams_no_queue_is_added(self, admin: Kubectl) -> None:
        """Case 3."""
        stored = await created(admin, wrapped(namespace=ANYWHERE), DRY)
        assert stored["metadata"]["labels"].keys() == {USER, USERID}
        assert "suspend" not in stored["spec"]

    async def test_in_a_teams_namespace_a_queue_must_be_named(self, admin: Kubectl) -> None:
        """Case 3, where the specification overrides it: nobody runs without quota."""
        error = (
            f"metadata.labels[{QUEUE}]: Required value: add the label {QUEUE}: LOCALQUEUE "
            f"(`kubectl get localqueues -n {NAMESPACE}` lists them); this cluster has no default "
            "queue"
        )
        assert await refusal(admin, wrapped()) == invalid(error)
        # An empty one Kueue refuses as well, and the API server tells the errors of one of us.
        assert f"metadata.labels[{QUEUE}]: " in await refusal(admin, wrapped(labels={QUEUE: ""}))
        await created(admin, wrapped(labels={QUEUE: "mine"}), DRY)

    @pytest.mark.parametrize(
        ("name", "highest", "more"),
        [
            ("warmupGracePeriodDuration", "24h", "86401s"),
            ("successTTLDuration", "168h", "8d"),
        ],
    )
    async def test_periods_above_their_limits_are_refused_whenever_they_are_set(
        self, admin: Kubectl, name: str, highest: str, more: str
    ) -> None:
        """At creation and later; the limit itself is allowed."""
        error = (
            f'metadata.annotations[{PREFIX}{name}]: Invalid value: "{more}": must be at most '
            f"{highest}, the operator's limit"
        )
        labels = {QUEUE: "nowhere"}
        too_long = wrapped(labels=labels, annotations=prefixed(**{name: more}))
        assert await refusal(admin, too_long) == invalid(error)
        within = wrapped(labels=labels, annotations=prefixed(**{name: highest}))
        await created(admin, within)
        refused = await patch(admin, {"metadata": {"annotations": prefixed(**{name: more})}})
        assert (refused.code, refused.err) == (1, invalid(error))

    async def test_the_configured_limits_and_kinds_apply(self, admin: Kubectl) -> None:
        pods = [pod(name=f"p{index}") for index in range(3)]
        await created(admin, wrapped(*pods[:2], labels={QUEUE: "q"}), DRY)
        assert await refusal(admin, wrapped(*pods, labels={QUEUE: "q"})) == invalid(
            "spec.components: Too many: 3: all components together may have at most 2 pod sets: "
            + ", ".join(f"spec.components[{index}] (Pod) has 1" for index in range(3))
        )
        assert await refusal(admin, wrapped(pods[0], JOB, labels={QUEUE: "q"})) == invalid(
            "spec.components[1].template: Forbidden: batch/Job may not be wrapped; these Kinds may "
            "be wrapped: Pod"
        )

    async def test_without_a_queue_it_belongs_to_its_user_and_gets_none_later(
        self, cluster: LocalCluster, admin: Kubectl
    ) -> None:
        """Cases 28 and 29, where the specification lets them stand: in a namespace of no team."""
        bob = admin.impersonating("bob", "editors")
        body = wrapped(namespace=ANYWHERE)
        body["spec"]["suspend"] = True
        await created(bob, body)
        components = (await cluster.client.get(APPWRAPPERS, ANYWHERE, NAME))["spec"]["components"]
        infos = [{"labels": {"a": "b"}}]
        components[0]["podSetInfos"] = infos
        for spec in ({"components": components}, {"suspend": False}, {"suspend": True}):
            done = await patch(bob, {"spec": spec}, ANYWHERE)
            assert (done.code, done.err) == (0, "")
            stored = json.loads(done.out)
            for field, value in spec.items():
                assert stored["spec"][field] == value
            assert QUEUE not in stored["metadata"]["labels"]


async def test_an_update_adds_no_queue_where_a_default_came_later(
    cluster: LocalCluster, admin: Kubectl
) -> None:
    """Case 6: what was stored without a queue stays without."""
    body = wrapped(namespace=ANYWHERE)
    body["spec"]["suspend"] = True
    async with reconfigured(cluster, defaultQueueName=""):
        await created(admin, body)
    done = await patch(admin, {"metadata": {"labels": {"a": "b"}}}, ANYWHERE)
    assert (done.code, done.err) == (0, "")
    labels = json.loads(done.out)["metadata"]["labels"]
    assert labels.keys() == {"a", USER, USERID}


async def test_with_the_check_off_rights_do_not_matter(cluster: LocalCluster) -> None:
    """Case 25: of a team's user, who may create neither of the two unwrapped."""
    alice, body = member_of(cluster, NAMESPACE), wrapped(pod(), JOB)
    async with reconfigured(cluster, userRBACAdmissionCheck=False):
        await created(alice, body, DRY)
    refused = await refusal(alice, body)
    assert 'User "alice" cannot create resource "pods"' in refused
    assert 'User "alice" cannot create resource "jobs"' in refused


async def test_a_job_without_a_queue_gets_the_configured_one(
    cluster: LocalCluster, admin: Kubectl
) -> None:
    """Off by default: here with the configuration and the registration of the other overlay."""
    alice = member_of(cluster, NAMESPACE)
    assert await _labels_of_a_job(alice) == {}
    async with reconfigured(cluster, defaultQueueNameOnDirectKinds=True) as configuration:
        client = cluster.client
        registered = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, None, MUTATING)
        text = json.dumps(configuration)
        added = registration(parse_config(text).config)[0]["webhooks"][1]
        served = copy.deepcopy(registered["webhooks"][0]["clientConfig"])
        webhooks = [*registered["webhooks"], {**added, "clientConfig": served}]
        try:
            await _set_webhooks(cluster, webhooks)
            queue = {QUEUE: "default-queue"}
            await comes_to(lambda: _labels_of_a_job(alice), queue)
            assert await _labels_of_a_job(alice, {QUEUE: "", "a": "b"}) == {**queue, "a": "b"}
            other = {QUEUE: "other"}
            assert await _labels_of_a_job(alice, other) == other
            # Whoever may do everything is not asked, so it may leave out a queue.
            assert await _labels_of_a_job(admin) == {}
        finally:
            await _set_webhooks(cluster, registered["webhooks"])


async def _labels_of_a_job(who: Kubectl, labels: dict[str, str] | None = None) -> dict[str, str]:
    """Of a PyTorchJob that is not wrapped, as it would be stored."""
    body = training("direct")
    body["metadata"] |= {"namespace": NAMESPACE, "labels": labels or {}}
    made = await who("create", DRY, "-o", "json", "-f", "-", stdin=json.dumps(body))
    found: dict[str, str] = json.loads(made)["metadata"].get("labels", {})
    return found


async def _set_webhooks(cluster: LocalCluster, webhooks: list[JsonObject]) -> None:
    await cluster.client.patch(
        MUTATING_WEBHOOK_CONFIGURATIONS, None, MUTATING, {"webhooks": webhooks}, PatchType.MERGE
    )
