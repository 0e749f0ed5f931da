"""Kubelets: starts, ends, restarts, deletions, and nodes that are silent for a while."""

from itertools import pairwise

from shared.api.names import LABEL_UID
from shared.api.objects import NODES, PODS, JsonObject
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.node_lifecycle import NodeLifecycle
from tests.simulation.actors.nodes import Nodes
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, bound_pod

STOPS = "kubelet: SIGTERM to p"


def kubelets(pod: JsonObject, seconds: float = 0.0, /, **deviations: int) -> SmallCluster:
    """Create a bound pod; `deviations` are options of the first reaction to SIGTERM, or fault."""
    places = {"reaction": STOPS, "fault": "fate of p", "unstarted": "kubelet has not started p"}
    cluster = SmallCluster(deviations={(places[key], 1): at for key, at in deviations.items()})
    Kubelet(cluster, faults_until=1000.0)
    cluster.create(PODS, pod)
    cluster.advance(seconds)
    return cluster


def stored(cluster: SmallCluster) -> JsonObject:
    (pod,) = cluster.pods()
    return pod


def state(cluster: SmallCluster) -> JsonObject:
    found: JsonObject = stored(cluster)["status"]["containerStatuses"][0]
    return found


def story(cluster: SmallCluster) -> list[str]:
    """Return the phases of the pod in order, and its end."""
    pods = [each for each in cluster.writes if each.resource == PODS]
    found = ["gone" if each.type == "DELETED" else each.item["status"]["phase"] for each in pods]
    return [each for number, each in enumerate(found) if number == 0 or found[number - 1] != each]


def test_a_pod_runs_and_succeeds() -> None:
    cluster = kubelets(bound_pod("p", run_for="5s"), 30)
    assert story(cluster) == ["Pending", "Running", "Succeeded"]
    assert state(cluster)["state"]["terminated"]["exitCode"] == 0


def test_a_pod_fails_with_its_exit_code_and_that_is_a_cause() -> None:
    pod = bound_pod("p", exit_code="3", termination_message="no shard")
    pod["metadata"]["labels"] = {LABEL_UID: "u1"}
    cluster = kubelets(pod, 30)
    ended = state(cluster)["state"]["terminated"]
    assert (ended["exitCode"], ended["message"]) == (3, "no shard")
    assert cluster.causes.of("u1") == ["pod p: exit code 3"]


def test_a_container_restarts_after_pauses_that_grow() -> None:
    pod = bound_pod("p", exit_code="1", run_for="1s")
    pod["spec"]["restartPolicy"] = "OnFailure"
    cluster = kubelets(pod, 100)
    starts = [
        each.at
        for each in cluster.writes
        if each.resource == PODS
        and "running" in (each.item["status"].get("containerStatuses") or [{}])[0].get("state", {})
    ]
    pauses = [round(after - before) for before, after in pairwise(starts)]
    assert pauses == [2, 11, 21, 41]
    assert story(cluster) == ["Pending", "Running"]
    assert state(cluster)["lastState"]["terminated"]["exitCode"] == 1


def test_a_pod_whose_failures_are_limited_succeeds_after_them() -> None:
    pod = bound_pod("p", fail_restarts="1", run_for="1s")
    pod["spec"]["restartPolicy"] = "OnFailure"
    assert story(kubelets(pod, 100)) == ["Pending", "Running", "Succeeded"]


def test_a_deleted_pod_ends_by_sigterm_and_is_removed() -> None:
    cluster = kubelets(bound_pod("p", hang="running"), 5)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(1)
    assert story(cluster) == ["Pending", "Running", "Failed", "gone"]


def test_a_deleted_pod_may_succeed_on_sigterm() -> None:
    cluster = kubelets(bound_pod("p", hang="running"), 5, reaction=1)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(1)
    assert story(cluster) == ["Pending", "Running", "Succeeded", "gone"]


def test_a_deleted_pod_may_end_with_its_own_code() -> None:
    cluster = kubelets(bound_pod("p", exit_code="3", run_for="1m"), 5, reaction=3)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(1)
    last = next(each.item for each in cluster.writes[::-1] if each.type == "MODIFIED")
    assert last["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_pod_that_ignores_sigterm_is_killed_when_its_grace_is_over() -> None:
    cluster = kubelets(bound_pod("p", hang="running"), 5, reaction=2)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(29)
    assert story(cluster)[-1] == "Running"
    cluster.advance(2)
    assert story(cluster)[-2:] == ["Failed", "gone"]


def test_a_shorter_grace_kills_earlier() -> None:
    cluster = kubelets(bound_pod("p", hang="running"), 5, reaction=2)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(5)
    cluster.store.delete(PODS, TEAM, "p", grace=1)
    cluster.advance(2)
    assert cluster.pods() == []


def test_a_pod_that_ignores_its_deletion_outlives_its_grace() -> None:
    cluster = kubelets(bound_pod("p", hang="running", ignore_deletion_for="60s"), 5)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(59)
    assert story(cluster)[-1] == "Running"
    cluster.advance(2)
    assert cluster.pods() == []


def test_a_pod_that_is_deleted_before_its_start_fails_without_times() -> None:
    cluster = kubelets(bound_pod("p", hang="pending"), 5)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(5)
    assert story(cluster) == ["Pending", "Failed", "gone"]
    failed = next(
        each.item for each in cluster.writes if each.item.get("status", {}).get("phase") == "Failed"
    )
    ended = failed["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")
    assert ended["finishedAt"] is None


def test_a_simulated_kubelet_just_removes_an_unstarted_pod() -> None:
    cluster = kubelets(bound_pod("p", hang="pending"), 5, unstarted=1)
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(5)
    assert story(cluster) == ["Pending", "gone"]


def test_faults_end_a_pod_otherwise_than_it_is_written() -> None:
    found = {}
    for number in range(1, 7):
        cluster = kubelets(bound_pod("p", run_for="20s"), 60, fault=number)
        status = stored(cluster)["status"]
        found[number] = (status["phase"], status.get("reason", ""))
    assert found == {
        1: ("Failed", ""),
        2: ("Failed", ""),
        3: ("Failed", ""),
        4: ("Failed", "Evicted"),
        5: ("Failed", "UnexpectedAdmissionError"),
        6: ("Pending", ""),
    }


def test_a_silent_node_does_what_it_missed_when_it_wakes() -> None:
    cluster = kubelets(bound_pod("p", run_for="10s"), 5)
    nodes = Nodes(cluster, NodeLifecycle(cluster))
    nodes.silence("n1")
    cluster.advance(30)
    assert story(cluster)[-1] == "Running"
    nodes.wake("n1")
    cluster.advance(1)
    assert story(cluster)[-1] == "Succeeded"


def test_a_pod_that_was_deleted_on_a_silent_node_goes_when_the_node_wakes() -> None:
    cluster = kubelets(bound_pod("p", hang="running"), 5)
    nodes = Nodes(cluster, NodeLifecycle(cluster))
    nodes.silence("n1")
    cluster.store.delete(PODS, TEAM, "p")
    cluster.advance(200)
    assert len(cluster.pods()) == 1
    nodes.wake("n1")
    cluster.advance(2)
    assert cluster.pods() == []


def test_pods_of_a_removed_node_do_not_change() -> None:
    cluster = kubelets(bound_pod("p", run_for="10s"), 5)
    cluster.store.delete(NODES, None, "n1")
    cluster.advance(60)
    assert story(cluster)[-1] == "Running"
