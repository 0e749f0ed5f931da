"""What is read of the cluster, what is left out, and what may not be read."""

import asyncio
from collections.abc import Collection

import pytest

from cli.cluster.connection import Cluster
from cli.cluster.unread import Unread, objects
from cli.command import CommandError
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.compose import explain
from cli.explaining.gather import ExplanationReader
from shared.api.objects import JsonObject
from shared.kube.client import ApiError
from shared.kube.discovery import Discovery
from tests.support.builders.explained import deployed, waiting
from tests.support.builders.explained.objects import NOW, cluster_queue, local_queue, node
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.served_objects import ServedObjects

JOBS = {"name": "jobs", "kind": "Job", "namespaced": True}
VISIBILITY = "/apis/visibility.kueue.x-k8s.io"
PLACES = f"{VISIBILITY}/v1beta2/namespaces/team1/localqueues/default-queue/pendingworkloads"


def served(
    seen: AppWrapperObjects, *, forbidden: Collection[str] = (), visibility: bool = True
) -> ExplanationReader:
    """A cluster that shows just that."""
    world = seen.world
    paths: dict[str, JsonObject] = {"/apis/batch/v1": {"resources": [JOBS]}}
    if visibility:
        paths[VISIBILITY] = {"preferredVersion": {"version": "v1beta2"}}
        paths[PLACES] = {"items": list(objects(seen.pending or ()))}
    client = ServedObjects(
        {
            "appwrappers": [seen.appwrapper],
            "pods": list(objects(seen.pods)),
            "events": [*objects(seen.events), *objects(seen.component_events)],
            "jobs": [each for each in seen.components if isinstance(each, dict)],
            "workloads": list(objects(world.all_workloads)),
            "localqueues": list(objects(world.local_queues)),
            "clusterqueues": list(objects(world.cluster_queues)),
            "cohorts": [],
            "nodes": [node(f"gpu-{index}") for index in range(1, 9)],
            "namespaces": [{"metadata": {"name": "team1"}}],
            "configmaps": [],
        },
        forbidden=forbidden,
        paths=paths,
    )
    for each in client.objects["jobs"]:
        each["metadata"]["name"] = "train"
    return ExplanationReader(
        Cluster(client, Discovery(client, FakeClock()), FakeClock(NOW), "team1"), "team1"
    )


def client_of(gatherer: ExplanationReader) -> ServedObjects:
    client = gatherer.cluster.client
    assert isinstance(client, ServedObjects)
    return client


def gathered(gatherer: ExplanationReader) -> AppWrapperObjects:
    async def all_of_it() -> AppWrapperObjects:
        raw = await gatherer.appwrapper("train")
        (seen,) = await gatherer.seen([raw])
        return seen

    return asyncio.run(all_of_it())


def test_one_that_waits_is_seen_with_its_queue() -> None:
    expected = waiting.waits_for_quota()
    seen = gathered(served(expected))
    assert seen.now == NOW
    assert seen.pending == expected.pending
    assert seen.world.all_workloads == expected.world.all_workloads
    assert len(objects(seen.world.own_workloads)) == 3
    assert seen.world.cluster_queues == expected.world.cluster_queues
    assert len(objects(seen.world.nodes)) == 8
    assert seen.unread == ()
    assert seen.world.settings.problem == (
        "there is no ConfigMap appwrapper-operator-config in appwrapper-system, mlbatch-system"
    )


MLBATCH = """\
appwrapper:
  exemptions:
    quotaManagers: ["system:serviceaccount:mlbatch-system:kueue-controller-manager"]
"""


@pytest.mark.parametrize("where", ["mlbatch-system", "kueue-system"])
def test_kueues_configuration_is_read_where_its_manager_is_then_in_kueue_system(where: str) -> None:
    gatherer = served(waiting.no_workload())
    settings = {"name": "kueue-manager-config", "namespace": where}
    operator = {"name": "appwrapper-operator-config", "namespace": "appwrapper-system"}
    client_of(gatherer).objects["configmaps"] = [
        {"metadata": operator, "data": {"config.yaml": MLBATCH}},
        {"metadata": settings},
    ]
    seen = gathered(gatherer)
    assert seen.world.kueue_settings == {"metadata": settings}
    assert f"kubectl get configmap kueue-manager-config -n {where} -o yaml" in [
        each.command for each in explain(seen).commands
    ]


def test_without_kueues_configuration_the_namespace_of_its_manager_is_shown() -> None:
    gatherer = served(waiting.no_workload())
    operator = {"name": "appwrapper-operator-config", "namespace": "appwrapper-system"}
    client_of(gatherer).objects["configmaps"] = [
        {"metadata": operator, "data": {"config.yaml": MLBATCH}}
    ]
    assert "kubectl get configmap kueue-manager-config -n mlbatch-system -o yaml" in [
        each.command for each in explain(gathered(gatherer)).commands
    ]


def test_for_a_running_appwrapper_no_queue_and_no_node_is_read() -> None:
    gatherer = served(deployed.runs())
    seen = gathered(gatherer)
    assert len(objects(seen.pods)) == 2
    assert seen.components[0] is not None
    lists = [each.split()[1] for each in client_of(gatherer).sent if each.startswith("list")]
    assert sorted(lists) == ["events", "pods", "workloads"]


def test_nodes_are_read_for_a_pod_that_finds_none() -> None:
    assert len(objects(gathered(served(deployed.unschedulable())).world.nodes)) == 8


def test_events_of_components_are_read_where_pods_are_missing() -> None:
    seen = gathered(served(deployed.pods_missing()))
    assert [each["reason"] for each in objects(seen.component_events)] == ["FailedCreate"]


def test_without_a_visibility_server_there_is_no_position() -> None:
    assert gathered(served(waiting.waits_for_quota(), visibility=False)).pending is None


def test_unreadable_parts_are_named_and_the_rest_is_read() -> None:
    forbidden = ["nodes", "clusterqueues", "cohorts", "workloads everywhere", "namespaces"]
    seen = gathered(served(waiting.waits_for_quota(), forbidden=forbidden))
    assert [(each.what, each.why) for each in seen.unread] == [
        ("Namespace team1", "no right to get it"),
        ("clusterqueues of the cluster: how much quota is used and free", "no right to list them"),
        ("cohorts of the cluster: what can be borrowed", "no right to list them"),
        ("nodes of the cluster: whether a node is large enough", "no right to list them"),
    ]
    assert len(objects(seen.world.own_workloads)) == 3


def test_a_component_that_may_not_be_read_is_one_of_them() -> None:
    seen = gathered(served(deployed.runs(), forbidden=["jobs", "pods", "configmaps"]))
    assert seen.components == (Unread("Job train", "no right to get it", forbidden=True),)
    assert isinstance(seen.pods, Unread)
    assert seen.world.settings.problem == ("you may not read the operator's configuration")


@pytest.mark.parametrize(
    "plural",
    ["configmaps", "workloads", "namespaces", "localqueues", "clusterqueues", "cohorts", "nodes",
     "pods", "events"],
)  # fmt: skip
def test_a_failure_of_the_api_server_ends_the_command(plural: str) -> None:
    gatherer = served(waiting.waits_for_quota())
    client_of(gatherer).failing = {plural}
    with pytest.raises(ApiError, match="etcd has no leader"):
        gathered(gatherer)


def test_a_component_that_fails_to_be_read_is_named() -> None:
    gatherer = served(deployed.runs())
    client_of(gatherer).failing = {"jobs"}
    assert gathered(gatherer).unread == (Unread("Job train", "etcd has no leader"),)


def test_unreadable_events_of_components_are_named() -> None:
    seen = gathered(served(deployed.pods_missing(), forbidden=["events"]))
    what = "events of namespace team1: what happened to it"
    assert seen.component_events == Unread(what, "no right to list them", forbidden=True)


def test_unreadable_components_are_named_between_pods_and_events() -> None:
    seen = gathered(served(deployed.runs(), forbidden=["workloads", "pods", "jobs", "events"]))
    named = [each.what.partition(":")[0] for each in seen.unread]
    assert named == [
        "workloads of namespace team1",
        "pods of namespace team1",
        "Job train",
        "events of namespace team1",
    ]


def test_the_operators_configuration_counts_where_it_may_be_read() -> None:
    gatherer = served(deployed.runs())
    text = "appwrapper:\n  pauseResets: true\n"
    item = {
        "metadata": {"namespace": "appwrapper-system", "name": "appwrapper-operator-config"},
        "data": {"config.yaml": text},
    }
    client_of(gatherer).objects["configmaps"] = [item]
    settings = gathered(gatherer).world.settings
    assert (settings.pause_resets, settings.problem) == (True, "")
    item["data"] = {"config.yaml": "appwrapper:\n  pauseRests: true\n"}
    assert gathered(gatherer).world.settings.problem == (
        "the operator's configuration has mistakes"
    )


def test_without_kueue_nothing_of_it_is_there() -> None:
    gatherer = served(waiting.waits_for_quota(), visibility=False)
    for plural in ("workloads", "localqueues", "clusterqueues", "cohorts"):
        del client_of(gatherer).objects[plural]
    world = gathered(gatherer).world
    assert (world.has_kueue, world.own_workloads, world.cluster_queues) == (False, (), ())


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        (
            "trian",
            ["train", "eval"],
            'there is no AppWrapper "trian" in namespace team1. Did you mean train?',
        ),
        (
            "x",
            ["train", "eval"],
            'there is no AppWrapper "x" in namespace team1. It has eval and train',
        ),
        (
            "x",
            [],
            'there is no AppWrapper "x" in namespace team1, which has none at all.'
            " Use -n to name another namespace",
        ),
    ],
)
def test_a_name_that_is_not_there(name: str, names: list[str], message: str) -> None:
    gatherer = served(deployed.runs())
    client_of(gatherer).objects["appwrappers"] = [
        {"metadata": {"namespace": "team1", "name": each}} for each in names
    ]
    with pytest.raises(CommandError) as error:
        asyncio.run(gatherer.appwrapper(name))
    assert str(error.value) == message


def test_a_cluster_without_appwrappers() -> None:
    gatherer = served(deployed.runs())
    del client_of(gatherer).objects["appwrappers"]
    with pytest.raises(CommandError, match="CustomResourceDefinition is not installed"):
        asyncio.run(gatherer.appwrapper("train"))


def test_one_appwrapper_is_read_by_lists_of_its_own_pods_and_events() -> None:
    gatherer = served(deployed.runs())
    gathered(gatherer)
    lists = [each for each in client_of(gatherer).sent if each.startswith("list")]
    assert "list pods team1 workload.codeflare.dev/appwrapper=train" in lists
    assert "list events team1 involvedObject.kind=AppWrapper,involvedObject.name=train" in lists


def test_many_are_seen_with_one_list_of_pods_and_one_of_events() -> None:
    gatherer = served(deployed.runs())
    other = waiting.waits_for_quota().appwrapper
    other["metadata"]["name"] = "eval"
    client = client_of(gatherer)
    client.objects["appwrappers"].append(other)
    client.objects["localqueues"] = [local_queue()]
    client.objects["clusterqueues"] = [cluster_queue()]

    async def all_of_them() -> tuple[AppWrapperObjects, ...]:
        raws = await gatherer.all()
        return await gatherer.seen(raws)

    found = asyncio.run(all_of_them())
    assert [each.appwrapper["metadata"]["name"] for each in found] == ["eval", "train"]
    assert [len(objects(each.pods)) for each in found] == [0, 2]
    assert [each.pending for each in found] == [(), None]
    lists = [each.split()[1] for each in client.sent if each.startswith("list")]
    assert (lists.count("pods"), lists.count("events")) == (1, 1)
