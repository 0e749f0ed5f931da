"""Bad input through the real API server: refused for its own fault, never for the webhook's."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import ApiError
from tests.fuzz.hostile import LABEL_VALUES, NUMBERS, PATHS
from tests.support.builders.admission import POD, SERVICE, appwrapper, component
from tests.support.builders.large_appwrappers import large
from tests.support.cluster.kubectl import Kubectl
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
    """What comes of it, with nothing stored: `created`, or the refusal."""
    try:
        await cluster.client.create(APPWRAPPERS, NAMESPACE, made, dry_run=True)
    except ApiError as error:
        return str(error)
    return "created"


def is_answer(text: str) -> bool:
    """Created, or refused as the sender's fault; not because our webhook did not answer well."""
    return text == "created" or (text[:1] == "4" and "failed calling webhook" not in text)


TEMPLATES: dict[str, Any] = {
    "a string": "Pod",
    "a list": [POD],
    "a number": 1,
    "true": True,
    "null": None,
    "empty": {},
    "no kind": {"apiVersion": "v1"},
    "a kind that is a list": {"apiVersion": "v1", "kind": ["Pod"]},
    "a version that climbs": {"apiVersion": "../v1", "kind": "Pod"},
    "metadata that is a list": {**POD, "metadata": []},
    "a spec that is a string": {**POD, "spec": "x"},
    "containers that are an object": {**POD, "spec": {"containers": {"c": {}}}},
}


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_malformed_template_is_refused(cluster: RunningCluster, template: str) -> None:
    for components in ([TEMPLATES[template]], [POD, TEMPLATES[template]]):
        made = named(appwrapper(*map(component, components)))
        text = await tried(cluster, made)
        assert text.startswith(("400 BadRequest: ", "422 Invalid: "))
        assert f"spec.components[{len(components) - 1}].template" in text


@pytest.mark.parametrize(
    ("spec", "named_field"),
    [
        (None, "spec"),
        ("x", "spec"),
        ([], "spec"),
        ({}, "spec.components"),
        ({"components": None}, "spec.components"),
        ({"components": {}}, "components"),
        ({"components": "x"}, "components"),
        ({"components": [None]}, "spec.components[0]"),
        ({"components": [[]]}, "spec.components"),
        ({"components": [{"template": POD, "podSets": "x"}]}, "podSets"),
        ({"components": [{"template": POD, "podSets": [1]}]}, "components.podSets"),
        ({"components": [{"template": POD, "podSets": {"path": "template"}}]}, "podSets"),
        ({"components": [{"template": POD, "podSetInfos": {}}]}, "podSetInfos"),
        ({"components": [{"template": POD, "annotations": []}]}, "annotations"),
        ({"components": [{"template": POD}], "suspend": "true"}, "suspend"),
        ({"components": [{"template": POD}], "managedBy": 1}, "managedBy"),
    ],
)
async def test_a_malformed_spec_is_refused_with_the_name_of_its_field(
    cluster: RunningCluster, spec: Any, named_field: str
) -> None:
    text = await tried(cluster, named(appwrapper() | {"spec": spec}))
    assert text.startswith(("400 ", "422 "))
    assert named_field in text
    assert "failed calling webhook" not in text


async def test_every_path_that_leads_nowhere_is_refused_by_its_place(
    cluster: RunningCluster,
) -> None:
    for path in PATHS:
        declared = component(JOB, podSets=[{"path": path}])
        text = await tried(cluster, named(appwrapper(declared)))
        assert text.startswith("422 Invalid: "), (path, text)
        assert "spec.components[0].podSets[0].path: " in text, (path, text)


async def test_numbers_of_every_size_get_an_answer(cluster: RunningCluster) -> None:
    for number in NUMBERS:
        for made in (
            component(JOB, podSets=[{"path": "template.spec.template", "replicas": number}]),
            component({**JOB, "spec": {**JOB["spec"], "parallelism": number}}),
            component({**JOB, "spec": {**JOB["spec"], "ttlSecondsAfterFinished": number}}),
            component({**SERVICE, "spec": {"ports": [{"port": number}]}}),
        ):
            text = await tried(cluster, named(appwrapper(component(), made)))
            assert is_answer(text), (number, text)


async def test_hostile_labels_are_the_api_servers_to_refuse(cluster: RunningCluster) -> None:
    for value in LABEL_VALUES:
        for key in (QUEUE, "team"):
            text = await tried(cluster, named(appwrapper(), labels={key: value}))
            assert text.startswith(("422 Invalid: ", "400 ")), (value, text)
            assert "failed calling webhook" not in text
    # What the webhook writes itself is not the user's to spoil.
    for value in LABEL_VALUES:
        assert await tried(cluster, named(appwrapper(), labels={USER: value})) == "created"


@pytest.mark.parametrize(
    ("user", "label"),
    [
        ("\u00fcbermut", "bermut"),
        ("\u540d\u524d", ""),
        ("al\u00efce@example.com", "al_ce_example.com"),
        ("a" * 300, "a" * 54 + "-9835fa6b"),
        ("team/alice/../x", "team_alice_.._x"),
        ("alice bob", "alice_bob"),
        ("-.alice.-", "alice"),
        ("system:serviceaccount:team1:default", "system_serviceaccount_team1_default"),
        ("x" * 62 + "//" + "y", "x" * 54 + "-d2a2d2fd"),
    ],
)
async def test_any_user_name_becomes_a_label(
    cluster: RunningCluster, kubectl: Kubectl, user: str, label: str
) -> None:
    somebody = kubectl.impersonating(user, "system:masters")
    text = json.dumps(named(appwrapper()))
    made = await somebody("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=text)
    assert json.loads(made)["metadata"]["labels"][USER] == label


async def test_an_object_nested_too_deep_is_refused(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    text = json.dumps(named(appwrapper(component({**SERVICE, "spec": 1}), component())))
    for levels, reason in (
        (
            150,
            "spec.components[0].template.spec: Invalid value: nested too deep: at most 100 levels "
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
