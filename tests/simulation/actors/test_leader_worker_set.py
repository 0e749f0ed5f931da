"""LeaderWorkerSets and the StatefulSets that make their pods."""

from typing import Any

from shared.api.objects import PODS, JsonObject
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.leader_worker_set import (
    LeaderWorkerPods,
    LeaderWorkerSets,
    defaulted,
)
from tests.simulation.actors.objects import set_condition
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, held
from tests.simulation.actors.stateful_set import StatefulSetController
from tests.simulation.api.kinds import LEADER_WORKER_SETS, STATEFUL_SETS
from tests.support.builders.operated_kinds import leader_worker_set
from tests.support.builders.pods import pod_template

GROUPS = ["serve-0", "serve-0-1", "serve-0-2", "serve-1", "serve-1-1", "serve-1-2"]


def started(**spec: Any) -> SmallCluster:
    """Start two groups of a leader and two workers."""
    cluster = SmallCluster()
    GarbageCollector(cluster)
    StatefulSetController(cluster, defaulted)
    LeaderWorkerSets(cluster)
    LeaderWorkerPods(cluster)
    template = pod_template()
    body = leader_worker_set("serve", leader=template, worker=template, replicas=2, size=3, **spec)
    cluster.create(LEADER_WORKER_SETS, body)
    cluster.advance(1)
    return cluster


def item(cluster: SmallCluster) -> JsonObject:
    found = cluster.store.get(LEADER_WORKER_SETS, TEAM, "serve")
    assert found is not None
    return found


def names(cluster: SmallCluster) -> list[str]:
    return sorted(each["metadata"]["name"] for each in cluster.pods())


def run(cluster: SmallCluster, *pods: str) -> None:
    def change(pod: JsonObject) -> None:
        pod["spec"]["nodeName"] = "n1"
        pod["status"]["phase"] = "Running"
        set_condition(pod, "Ready", "True", "", cluster.loop.now)

    for name in pods:
        cluster.store.change(PODS, TEAM, name, change)
    cluster.advance(1)


def test_each_leader_gets_its_workers_and_all_groups_make_it_available() -> None:
    """updateConditions; pod_controller.go creates a StatefulSet for each leader."""
    cluster = started()
    assert names(cluster) == GROUPS
    assert held(item(cluster)) == {"Progressing"}
    run(cluster, *GROUPS[:3])
    assert item(cluster)["status"]["readyReplicas"] == 1
    run(cluster, *GROUPS[3:])
    assert held(item(cluster)) == {"Available"}
    (pod,) = [each for each in cluster.pods() if each["metadata"]["name"] == "serve-1-2"]
    labels = pod["metadata"]["labels"]
    assert labels["leaderworkerset.sigs.k8s.io/group-index"] == "1"
    assert labels["leaderworkerset.sigs.k8s.io/worker-index"] == "2"


def test_leader_ready_delays_the_workers() -> None:
    cluster = started(startupPolicy="LeaderReady")
    assert names(cluster) == ["serve-0", "serve-1"]
    assert item(cluster)["status"]["updatedReplicas"] == 0
    run(cluster, "serve-1")
    assert names(cluster) == ["serve-0", *GROUPS[3:]]
    assert item(cluster)["status"]["updatedReplicas"] == 1


def test_a_restarted_container_recreates_its_whole_group() -> None:
    """handleRestartPolicy: the leader is deleted in the foreground."""
    cluster = started()
    run(cluster, *GROUPS)
    old = {each["metadata"]["name"]: each["metadata"]["uid"] for each in cluster.pods()}
    cluster.change_pod("serve-0-1", containerStatuses=[{"name": "main", "restartCount": 1}])
    cluster.advance(5)
    assert names(cluster) == GROUPS
    new = {each["metadata"]["name"]: each["metadata"]["uid"] for each in cluster.pods()}
    assert {name for name in GROUPS if old[name] != new[name]} == set(GROUPS[:3])
    assert held(item(cluster)) == {"Progressing"}


def test_a_failed_pod_of_a_stateful_set_is_replaced_under_its_name() -> None:
    """stateful_set_control.go: processReplica."""
    cluster = started(restartPolicy="None")
    run(cluster, *GROUPS)
    (old,) = [e["metadata"]["uid"] for e in cluster.pods() if e["metadata"]["name"] == "serve-0-1"]
    cluster.change_pod("serve-0-1", phase="Failed")
    cluster.advance(2)
    cluster.store.delete(PODS, TEAM, "serve-0-1", grace=0)
    cluster.advance(2)
    (new,) = [e["metadata"]["uid"] for e in cluster.pods() if e["metadata"]["name"] == "serve-0-1"]
    assert new != old


def test_in_order_each_pod_of_a_stateful_set_waits_for_the_one_before() -> None:
    cluster = SmallCluster()
    StatefulSetController(cluster)
    spec = {"replicas": 2, "template": pod_template()}
    cluster.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": spec})
    cluster.advance(1)
    assert names(cluster) == ["db-0"]
    run(cluster, "db-0")
    assert names(cluster) == ["db-0", "db-1"]
