"""Bad input through the real API server: refused for its own fault, never for the webhook's."""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import ApiError
from tests.fuzz.hostile import LABEL_VALUES, NUMBERS, PATHS
from tests.support.builders.admission import SERVICE, appwrapper, component
from tests.support.builders.large_appwrappers import large
from tests.support.cluster.dry_runs import at_once
from tests.support.cluster.kubectl import TRIES, UNANSWERED, Kubectl
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.team import NAMESPACE

NAME = "bad-input"
QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
URI = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{NAMESPACE}/appwrappers"
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": NAME},
    "spec": {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        }
    },
}


def named(made: JsonObject, **metadata: Any) -> JsonObject:
    return {**made, "metadata": {"name": NAME, "namespace": NAMESPACE, **metadata}}


@pytest.fixture
async def kubectl(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    yield admin(cluster)
    await removed(cluster.client, APPWRAPPERS, NAMESPACE, NAME)


async def tried(cluster: RunningCluster, made: JsonObject) -> str:
    """What comes of it, with nothing stored: `created`, or the refusal.

    Retries, as a user would, if the webhook got no answer about the user's rights in time.
    """
    for _ in range(TRIES):
        text = "created"
        try:
            await cluster.client.create(APPWRAPPERS, NAMESPACE, made, dry_run=True)
        except ApiError as error:
            text = str(error)
        if not UNANSWERED.search(text):
            break
    return text


def is_answer(text: str) -> bool:
    """Created, or refused as the sender's fault; not because our webhook did not answer well."""
    return text == "created" or (text[:1] == "4" and "failed calling webhook" not in text)


async def all_tried(cluster: RunningCluster, made: list[JsonObject]) -> list[str]:
    return await at_once(partial(tried, cluster, each) for each in made)


async def test_every_path_that_leads_nowhere_is_refused_by_its_place(
    cluster: RunningCluster,
) -> None:
    declared = [component(JOB, podSets=[{"path": path}]) for path in PATHS]
    texts = await all_tried(cluster, [named(appwrapper(each)) for each in declared])
    for path, text in zip(PATHS, texts, strict=True):
        assert text.startswith("422 Invalid: "), (path, text)
        assert "spec.components[0].podSets[0].path: " in text, (path, text)


async def test_numbers_of_every_size_get_an_answer(cluster: RunningCluster) -> None:
    made = [
        named(appwrapper(component(), each))
        for number in NUMBERS
        for each in (
            component(JOB, podSets=[{"path": "template.spec.template", "replicas": number}]),
            component({**JOB, "spec": {**JOB["spec"], "parallelism": number}}),
            component({**JOB, "spec": {**JOB["spec"], "ttlSecondsAfterFinished": number}}),
            component({**SERVICE, "spec": {"ports": [{"port": number}]}}),
        )
    ]
    texts = await all_tried(cluster, made)
    assert [text for text in texts if not is_answer(text)] == []


async def test_hostile_labels_are_the_api_servers_to_refuse(cluster: RunningCluster) -> None:
    labels = [{key: value} for value in LABEL_VALUES for key in (QUEUE, "team")]
    texts = await all_tried(cluster, [named(appwrapper(), labels=each) for each in labels])
    for label, text in zip(labels, texts, strict=True):
        assert text.startswith(("422 Invalid: ", "400 ")), (label, text)
        assert "failed calling webhook" not in text
    # The webhook overwrites what the user writes in its own labels.
    own = [named(appwrapper(), labels={USER: value}) for value in LABEL_VALUES]
    assert {*await all_tried(cluster, own)} == {"created"}


async def test_an_object_nested_too_deep_is_refused(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    text = json.dumps(named(appwrapper(component({**SERVICE, "spec": 1}), component())))
    for levels, reason in (
        (
            150,
            "spec.components[0].template: Invalid value: nested too deep: at most 100 levels "
            "of objects and arrays are allowed",
        ),
        (400, "the request is nested deeper than 250 levels"),
        (5000, "the request is nested deeper than 250 levels"),
    ):
        deep = text.replace('"spec": 1', f'"spec": {"[" * levels}{"]" * levels}')
        refused = await kubectl.run("create", "--raw", URI, "-f", "-", stdin=deep)
        assert refused.code == 1
        assert reason in refused.err, refused.err


async def test_the_checked_object_is_the_stored_one(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    """Of two keys the API server keeps the last, before any webhook sees the object."""
    text = json.dumps(named(appwrapper()))
    last_wins = text.replace('"kind": "Pod"', '"kind": "Node", "kind": "Pod"')
    made = json.loads(await kubectl("create", "--raw", URI, "-f", "-", stdin=last_wins))
    assert made["spec"]["components"][0]["template"]["kind"] == "Pod"
    await removed(cluster.client, APPWRAPPERS, NAMESPACE, NAME)
    last_wins = text.replace('"kind": "Pod"', '"kind": "Pod", "kind": "Node"')
    refused = await kubectl.run("create", "--raw", URI, "-f", "-", stdin=last_wins)
    assert (refused.code, "Node may not be wrapped" in refused.err) == (1, True)


async def test_an_object_near_the_largest_is_stored(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    made = named(large(922 << 10))
    stored = await cluster.client.create(APPWRAPPERS, NAMESPACE, made)
    assert len(json.dumps(stored)) > 900 << 10
    assert stored["metadata"]["labels"][QUEUE] == "default-queue"
