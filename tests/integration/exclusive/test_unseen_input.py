"""More of what no webhook has seen: annotations, pod sets and templates that mean nothing."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.conditions import condition
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NAMESPACES, PODS, JsonObject
from shared.kube.client import ApiError, KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job
from tests.support.builders.pods import SIMULATION, pod
from tests.support.cluster.followed import events_about, followed, reported
from tests.support.cluster.hot_loops import nothing_is_hot
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.registrations import unjudged
from tests.support.cluster.resources import JOBS
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to

UNSEEN = "unseen-input"
PREFIX = "workload.codeflare.dev.appwrapper/"
HANG = SIMULATION + "hang"
JOB_PATH = "template.spec.template"
DURATION = "must be a duration such as 90s, 1h30m or 7d"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    """An admin's, with a namespace that neither the webhook nor Kueue looks at."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": UNSEEN}}
    await cluster.client.create(NAMESPACES, None, body)
    await service_account_exists(cluster.client, UNSEEN)  # pods need it
    async with unjudged(cluster, UNSEEN):
        yield cluster.client
    await cluster.client.delete(
        NAMESPACES, None, UNSEEN, uid=None, propagation=Propagation.BACKGROUND
    )


def unseen(template: JsonObject, name: str = "unseen-input", **component: Any) -> JsonObject:
    body = appwrapper(name, {"template": template}, queued=False)  # whatever it is
    body["spec"]["components"][0] |= component
    return body


async def nothing_left(client: KubeClient, name: str) -> None:
    label = f"workload.codeflare.dev/appwrapper={name}"
    for resource in (JOBS, PODS, CONFIGMAPS):
        assert await listed(client, resource, UNSEEN, label) == []


async def test_without_kueue_it_runs_at_once(client: KubeClient) -> None:
    async with followed(client, UNSEEN, unseen(job("alone", run_for="100ms"), "alone")) as life:
        (recorded,) = (await life.until_phase("Resuming"))["status"]["componentStatus"]
        found = [(each["path"], each["replicas"]) for each in recorded["podSets"]]
        assert found == [(JOB_PATH, 2)]
        await life.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    await nothing_left(client, "alone")


async def test_pods_have_all_fields_of_pod_set_infos_and_their_own(
    client: KubeClient,
) -> None:
    training = job("infos", pods=1, hang="running")
    pods = training["spec"]["template"]
    pods["metadata"]["labels"] = {"mine": "label"}
    pods["spec"]["nodeSelector"] = {"mine": "node"}
    mine = {"key": "mine", "operator": "Exists"}
    pods["spec"]["tolerations"] = [mine]
    theirs = {"key": "theirs", "operator": "Exists", "effect": "NoSchedule"}
    info = {
        "labels": {"theirs": "label"},
        "annotations": {"theirs": "annotation"},
        "nodeSelector": {"theirs": "node"},
        "tolerations": [theirs],
        "schedulingGates": [{"name": "example.com/theirs"}],
    }
    async with followed(client, UNSEEN, unseen(training, "infos", podSetInfos=[info])) as life:
        await life.until_phase("Running")
        label = "workload.codeflare.dev/appwrapper=infos"
        await comes_to(lambda: number_of_pods(client, label), 1)
        [made] = await listed(client, PODS, UNSEEN, label)
        labels, annotations = made["metadata"]["labels"], made["metadata"]["annotations"]
        assert labels.items() >= {"mine": "label", "theirs": "label"}.items()
        assert annotations.items() >= {"theirs": "annotation", HANG: "running"}.items()
        assert made["spec"]["nodeSelector"] == {"mine": "node", "theirs": "node"}
        assert [each for each in made["spec"]["tolerations"] if each in (mine, theirs)] == [
            mine, theirs
        ]  # fmt: skip
        assert made["spec"]["schedulingGates"] == [{"name": "example.com/theirs"}]
    await nothing_left(client, "infos")


async def number_of_pods(client: KubeClient, label: str) -> int:
    return len(await listed(client, PODS, UNSEEN, label))


async def test_each_unusable_annotation_is_reported_once(client: KubeClient) -> None:
    periods = {
        "admissionGracePeriodDuration": "1m",
        "warmupGracePeriodDuration": "5m",
        "failureGracePeriodDuration": "1m",
        "retryPausePeriodDuration": "1m30s",
        "forcefulDeletionGracePeriodDuration": "10m",
        "deletionOnFailureGracePeriodDuration": "0s",
        "successTTLDuration": "168h",
    }
    # More than ten of one reason would be told as one; unit tests have the others.
    body = unseen(job("told", hang="running"), "told")
    given = dict.fromkeys(periods, "soon") | {"retryLimit": "many"}
    body["metadata"]["annotations"] = {PREFIX + key: value for key, value in given.items()}
    body["spec"]["components"][0]["annotations"] = {
        PREFIX + "helper": "yes",
        PREFIX + "keep": "true",
    }
    async with followed(client, UNSEEN, body) as life:
        await life.until(lambda item: "PodsReady" in true_conditions(item), "all pods ready")
        # A change of it, and some passes over it: nothing is told again.
        await client.patch(
            APPWRAPPERS, UNSEEN, "told", {"metadata": {"labels": {"a": "b"}}}, PatchType.MERGE
        )

        async def number() -> int:
            return len(await complaints(client, "told"))

        await comes_to(number, len(given) + 2)
        found = await complaints(client, "told")
        for key, default in periods.items():
            path = f"metadata.annotations[{PREFIX}{key}]"
            reported = f"{DURATION}; the controller uses {default}"
            assert f'{path}: Invalid value: "soon": {reported}' in found
        path = f"spec.components[0].annotations[{PREFIX}keep]"
        no_pods = "only a component without pods can be kept; every reset deletes this one"
        assert f"{path}: Forbidden: {no_pods}" in found
        assert len(set(found)) == len(found)


async def complaints(client: KubeClient, name: str) -> list[str]:
    return [
        message
        for kind, reason, message in await events_about(client, UNSEEN, name)
        if (kind, reason) == ("Warning", "InvalidAnnotation")
    ]


def pod_template_of(value: Any) -> JsonObject:
    made = job("bad-template")
    made["spec"]["template"] = value
    return made


NO_SPEC = "spec.components[0]: the Job needs spec.template"
BAD: dict[str, tuple[JsonObject, str]] = {
    "a string for a pod template": (unseen(pod_template_of("x")), NO_SPEC),
    "a list for a pod template": (unseen(pod_template_of([])), NO_SPEC),
    "null for a pod template": (unseen(pod_template_of(None)), NO_SPEC),
    "a number for a pod spec": (unseen(pod_template_of({"spec": 1})), NO_SPEC),
    "a list for containers' resources": (
        unseen(pod_template_of({"spec": {"containers": [{"resources": []}]}})),
        "spec.components[0]: ",
    ),
    "a path to nowhere": (
        unseen(job("bad"), podSets=[{"path": "template.spec.nothing"}]),
        "spec.components[0]: template.spec has no field 'nothing'",
    ),
    "a path that climbs": (
        unseen(job("bad"), podSets=[{"path": "spec[0]..template"}]),
        "spec.components[0]: ",
    ),
    "an index into an object": (
        unseen(job("bad"), podSets=[{"path": "template.spec.template[0]"}]),
        "spec.components[0]: ",
    ),
    "fewer than no pods": (
        unseen(job("bad"), podSets=[{"path": JOB_PATH, "replicas": -1}]),
        "spec.components[0]: podSets[0].replicas is -1",
    ),
    "a pod without containers": (
        unseen({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {}}),
        "spec.components[0]: 422 Invalid: ",
    ),
    "no spec at all": (
        unseen({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bad"}}),
        "spec.components[0]: ",
    ),
    "labels that are numbers": (
        unseen({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "bad"}, "data": {"a": 1}}),
        "spec.components[0]: 400 BadRequest: ",
    ),
    "another namespace": (
        unseen({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "bad", "namespace": "default"}}),
        "spec.components[0]: template.metadata.namespace is 'default'",
    ),
    "a version of no API": (
        unseen({"apiVersion": "../v1", "kind": "ConfigMap", "metadata": {"name": "bad"}}),
        "spec.components[0]: no matches for kind",
    ),
}  # fmt: skip


async def fails_and_says_why(client: KubeClient, life: Life, name: str, says: str) -> None:
    failed = await life.until_phase("Failed")
    _, reason, message = reported(failed, "Unhealthy")
    assert (reason, message[: len(says)]) == ("CreateFailed", says)
    event = ("Warning", "CreateFailed", f"failed: {message}")

    async def is_reported() -> bool:
        return event in await events_about(client, UNSEEN, name)

    await comes_to(is_reported, True)
    await life.until(lambda item: true_conditions(item) == {"Unhealthy"}, "its end")


async def test_an_unusable_component_fails_the_appwrapper_with_a_reason(
    client: KubeClient, controller_words: ControllerWords
) -> None:
    """All at once; none of them is hot afterwards."""
    names = {what: f"unseen-bad-{number}" for number, what in enumerate(BAD)}
    async with AsyncExitStack() as stack:
        lives = {}
        for what, name in names.items():
            body = {**BAD[what][0], "metadata": {**BAD[what][0]["metadata"], "name": name}}
            lives[what] = await stack.enter_async_context(followed(client, UNSEEN, body))
        for what, life in lives.items():
            await fails_and_says_why(client, life, names[what], BAD[what][1])
        await nothing_is_hot(controller_words)
    for name in names.values():
        await nothing_left(client, name)


@pytest.mark.parametrize(
    "template", ["x", [], None, 1, {"kind": "Pod"}, {**pod("a"), "metadata": "x"}]
)
async def test_a_component_that_is_no_object_is_refused_by_the_api_server(
    client: KubeClient, template: Any
) -> None:
    with pytest.raises(ApiError) as refused:
        await client.create(APPWRAPPERS, UNSEEN, unseen(template), dry_run=True)
    assert refused.value.status in (400, 422)


async def test_two_hundred_components(
    client: KubeClient, controller_words: ControllerWords
) -> None:
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"many-{number}"}}
        for number in range(199)
    ]
    body = appwrapper("many", *maps, job("many", hang="running"), queued=False)
    async with followed(client, UNSEEN, body) as life:
        await life.until(lambda item: "PodsReady" in true_conditions(item), "all pods ready")
        label = "workload.codeflare.dev/appwrapper=many"
        assert len(await listed(client, CONFIGMAPS, UNSEEN, label)) == 199
        await nothing_is_hot(controller_words)
        await client.delete(
            CONFIGMAPS, UNSEEN, "many-123", uid=None, propagation=Propagation.BACKGROUND
        )
        failed = await life.until_phase("Failed")
        message = "deleted by another client: ConfigMap many-123"
        assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message)
    await nothing_left(client, "many")


@pytest.mark.parametrize("levels", [1500, 5000])
async def test_an_appwrapper_nested_too_deep_stops_no_other(
    cluster: LocalCluster, client: KubeClient, levels: int
) -> None:
    body = unseen(job("deep"), "deep")
    body["spec"]["components"][0]["template"]["spec"]["deep"] = 1
    text = json.dumps(body).replace('"deep": 1', f'"deep": {"[" * levels}{"]" * levels}')
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    path = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{UNSEEN}/appwrappers"
    await kubectl("create", "--raw", path, "-f", "-", stdin=text)
    try:

        async def why() -> str:
            stored = await client.get(APPWRAPPERS, UNSEEN, "deep")
            conditions = (stored.get("status") or {}).get("conditions") or ()
            return str((condition(conditions, "Unhealthy") or {}).get("message"))

        await comes_to(why, "spec.components[0]: template is nested too deep to be sent")
        async with followed(client, UNSEEN, unseen(job("flat", run_for="100ms"), "flat")) as life:
            await life.until_phase("Succeeded")
    finally:
        await client.delete(
            APPWRAPPERS, UNSEEN, "deep", uid=None, propagation=Propagation.BACKGROUND
        )
        await comes_to(lambda: exists(client, APPWRAPPERS, UNSEEN, "deep"), False)
