"""RayClusters: head and workers, replacement, state, suspension, and pods found by label."""

from shared.api.objects import PODS, JsonObject
from tests.simulation.actors.objects import set_condition
from tests.simulation.actors.ray_cluster import RayClusterController
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, held
from tests.simulation.api.kinds import RAY_CLUSTERS
from tests.support.builders.operated_kinds import ray_cluster


def started() -> SmallCluster:
    """Start a RayCluster of a head and two workers."""
    cluster = SmallCluster()
    RayClusterController(cluster)
    cluster.create(RAY_CLUSTERS, ray_cluster("ray", workers=2))
    cluster.advance(1)
    return cluster


def item(cluster: SmallCluster) -> JsonObject:
    found = cluster.store.get(RAY_CLUSTERS, TEAM, "ray")
    assert found is not None
    return found


def run_all(cluster: SmallCluster) -> None:
    for pod in cluster.pods():

        def run(pod: JsonObject) -> None:
            pod["status"]["phase"] = "Running"
            set_condition(pod, "Ready", "True", "", cluster.loop.now)

        cluster.store.change(PODS, TEAM, pod["metadata"]["name"], run)
    cluster.advance(1)


def types(cluster: SmallCluster) -> list[str]:
    return sorted(each["metadata"]["labels"]["ray.io/node-type"] for each in cluster.pods())


def suspend(cluster: SmallCluster, value: bool) -> None:
    cluster.store.change(RAY_CLUSTERS, TEAM, "ray", lambda item: item["spec"].update(suspend=value))
    cluster.advance(5)


def test_a_ray_cluster_is_ready_when_head_and_workers_are() -> None:
    """calculateStatus."""
    cluster = started()
    assert types(cluster) == ["head", "worker", "worker"]
    assert "state" not in item(cluster)["status"]
    run_all(cluster)
    assert item(cluster)["status"]["state"] == "ready"
    assert held(item(cluster)) == {"HeadPodReady", "RayClusterProvisioned"}


def test_a_failed_worker_is_deleted_and_replaced_and_the_state_stays_ready() -> None:
    """reconcilePods: shouldDeletePod; the pass ends with an error, the next one creates."""
    cluster = started()
    run_all(cluster)
    (worker, *_) = [
        each for each in cluster.pods() if each["metadata"]["labels"]["ray.io/group"] == "workers"
    ]
    cluster.change_pod(worker["metadata"]["name"], phase="Failed")
    cluster.advance(5)
    assert types(cluster) == ["head", "worker", "worker"]
    assert worker["metadata"]["uid"] not in [e["metadata"]["uid"] for e in cluster.pods()]
    assert item(cluster)["status"]["state"] == "ready"
    assert item(cluster)["status"]["readyWorkerReplicas"] == 1


def test_a_suspended_ray_cluster_deletes_its_pods_and_resumes_with_new_ones() -> None:
    """reconcilePods and calculateStatus: Suspending, Suspended."""
    cluster = started()
    run_all(cluster)
    suspend(cluster, True)
    assert cluster.pods() == []
    assert "RayClusterSuspended" in held(item(cluster))
    assert item(cluster)["status"]["state"] == "suspended"
    suspend(cluster, False)
    assert types(cluster) == ["head", "worker", "worker"]


def test_pods_of_an_earlier_ray_cluster_of_the_same_name_count() -> None:
    """association.go: RayClusterAllPodsAssociationOptions selects by the label only."""
    cluster = started()
    cluster.store.delete(RAY_CLUSTERS, TEAM, "ray", propagation="Background")
    old = [each["metadata"]["uid"] for each in cluster.pods()]
    cluster.create(RAY_CLUSTERS, ray_cluster("ray", workers=2))
    cluster.advance(5)
    assert [each["metadata"]["uid"] for each in cluster.pods()] == old


def test_two_heads_stop_everything_until_one_is_gone() -> None:
    cluster = started()
    (head,) = [e for e in cluster.pods() if e["metadata"]["labels"]["ray.io/node-type"] == "head"]
    body = {"metadata": {"name": "other", "labels": head["metadata"]["labels"]}}
    cluster.create(PODS, {**body, "spec": head["spec"]})
    for worker in cluster.pods():
        if worker["metadata"]["labels"]["ray.io/node-type"] == "worker":
            cluster.store.delete(PODS, TEAM, worker["metadata"]["name"], grace=0)
    cluster.advance(5)
    assert types(cluster) == ["head", "head"]
    cluster.store.delete(PODS, TEAM, "other", grace=0)
    cluster.advance(20)
    assert types(cluster) == ["head", "worker", "worker"]
