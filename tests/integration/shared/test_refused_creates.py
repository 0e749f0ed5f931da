"""Creates that a webhook of somebody else's stands in the way of."""

import math
from pathlib import Path

import pytest

from localcluster.access.running import RunningCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import CONFIGMAPS, JsonObject
from shared.kube.client import KubeClient
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.followed import followed, reported, until_reported
from tests.support.cluster.life import Life, exists
from tests.support.cluster.resources import JOBS
from tests.support.cluster.third_party_webhook import ALLOWED, denied, judging, registered
from tests.support.team import NAMESPACE

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
LONG = {"admissionGracePeriodDuration": "1h"}
# As it is where nobody listens.
NOBODY = "https://127.0.0.1:1/"


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


def wrapped(name: str, **annotations: str) -> JsonObject:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return appwrapper(name, config_map, job(name, hang="running"), annotations=annotations)


async def until_it_runs(life: Life) -> JsonObject:
    return await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")


async def test_a_refusal_is_reported_with_the_webhooks_message_until_it_allows_it(
    client: KubeClient, tmp_path: Path
) -> None:
    answers: list[JsonObject] = []
    looked_at = False

    def judge(number: int) -> JsonObject:
        refused = denied(403, "no label 'team'", reason="Forbidden")
        answers.append(ALLOWED if looked_at and number > 2 else refused)
        return answers[-1]

    async with (
        judging(client, tmp_path, "judged", judge),
        followed(client, NAMESPACE, wrapped("judged", **LONG)) as life,
    ):
        held = await until_reported(life, "ResourcesDeployed", "CreateFailed")
        assert reported(held, "ResourcesDeployed") == (
            "True",
            "CreateFailed",
            'spec.components[0]: 403 Forbidden: admission webhook "third.party.example.com" denied '
            "the request: no label 'team'",
        )
        assert not await exists(client, JOBS, NAMESPACE, "judged")
        looked_at = True
        await until_it_runs(life)
        assert len(answers) >= 3
        assert answers.index(ALLOWED) == len(answers) - 1  # nothing is created twice
    assert "Resetting" not in life.phases()


async def test_one_that_never_allows_it_ends_it_after_the_admission_period(
    client: KubeClient, tmp_path: Path
) -> None:
    period = round(stretched(10))  # a busy machine tries twice in it
    body = wrapped("banned", admissionGracePeriodDuration=f"{period}s", retryLimit="0")
    refusal = denied(403, "not in this cluster", reason="Forbidden")
    async with (
        judging(client, tmp_path, "banned", lambda _: refusal) as asked,
        followed(client, NAMESPACE, body) as life,
    ):
        failed = await life.until_phase("Failed")
        _, reason, message = reported(failed, "Unhealthy")
        assert reason == "CreateFailed"
        assert message.startswith("retryLimit is 0: spec.components[0]: 403 Forbidden: ")
        assert message.endswith("denied the request: not in this cluster")
        # At intervals that double: at once, after 1 s, 3 s, 7 s, …, and at most once at the end.
        assert 2 <= asked.times <= 2 + int(math.log2(period + 1))
        await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")
    assert not await exists(client, JOBS, NAMESPACE, "banned")


async def test_a_field_that_an_operators_webhook_refuses_ends_it_at_once(
    client: KubeClient,
) -> None:
    """The Training Operator's own webhook: no retry changes the component."""
    body = appwrapper("misnamed", pytorch_job("misnamed", Master=pod_template(container="main")))
    async with followed(client, NAMESPACE, body) as life:
        failed = await life.until_phase("Failed")
        assert reported(failed, "Unhealthy") == (
            "True",
            "CreateFailed",
            "spec.components[0]: 403 Forbidden: admission webhook "
            '"validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
            "spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must have "
            "at least one container with name pytorch",
        )
    until_failed = ["", "Suspended", "Resuming", "Failed"]
    # Nothing exists, so it may go without another status.
    assert life.phases() in (until_failed, [*until_failed, "Terminating"])


async def test_patience_that_is_asked_for_is_obeyed(client: KubeClient, tmp_path: Path) -> None:
    """A 429 with a time: the create waits that long, and nobody needs to hear of it."""

    def judge(number: int) -> JsonObject:
        busy = denied(429, "busy", reason="TooManyRequests", details={"retryAfterSeconds": 1})
        return busy if number <= 2 else ALLOWED

    async with (
        judging(client, tmp_path, "patient", judge) as asked,
        followed(client, NAMESPACE, wrapped("patient", **LONG)) as life,
    ):
        running = await until_it_runs(life)
        assert asked.times == 3
        assert reported(running, "Unhealthy")[0] == "False"
    assert all("busy" not in str(event.object) for event in life.events)


async def test_a_webhook_that_is_away_is_waited_for(client: KubeClient) -> None:
    """The API server answers 500: nothing says that the component itself is wrong."""
    async with registered(client, "away", NOBODY, b""):
        body = wrapped("away", **LONG)
        async with followed(client, NAMESPACE, body) as life:
            held = await until_reported(life, "ResourcesDeployed", "CreateFailed")
            status, _, message = reported(held, "ResourcesDeployed")
            assert status == "True"
            assert message.startswith(
                "spec.components[0]: 500 InternalError: Internal error occurred: failed calling "
                'webhook "third.party.example.com": '
            )
            # It can be deleted meanwhile, and the webhook is not waited for then.
    assert life.phases() == ["", "Suspended", "Resuming", "Terminating"]
    assert not await exists(client, CONFIGMAPS, NAMESPACE, "away")
