"""Users: what they submit, change and delete, and which of it may explain a retry."""

from shared.api.names import LABEL_COMPONENT, LABEL_UID
from shared.api.objects import APPWRAPPERS, PODS
from shared.kinds.job import JOBS
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, bound_pod
from tests.simulation.actors.user import User
from tests.simulation.api.kinds import LOCAL_QUEUES
from tests.support.builders.appwrappers import appwrapper


def submitted() -> tuple[SmallCluster, User, str]:
    """Submit an AppWrapper whose component has one running pod; return its UID too."""
    cluster = SmallCluster()
    user = User(cluster, TEAM)
    uid = user.apply(appwrapper("a"))["metadata"]["uid"]
    labels = {LABEL_UID: uid, LABEL_COMPONENT: "0"}
    cluster.create(JOBS, {"metadata": {"name": "j", "labels": labels}, "spec": {}})
    pod = bound_pod("p", hang="running")
    pod["metadata"]["labels"] = labels
    cluster.create(PODS, pod)
    return cluster, user, uid


def test_a_second_apply_sets_labels_of_the_same_appwrapper() -> None:
    cluster, user, uid = submitted()
    body = appwrapper("a")
    body["metadata"].setdefault("labels", {})["team"] = "red"
    again = user.apply(body)
    assert again["metadata"]["uid"] == uid
    assert again["metadata"]["labels"]["team"] == "red"
    assert len(cluster.store.items(APPWRAPPERS)) == 1


def test_a_deleted_component_is_a_cause() -> None:
    cluster, user, uid = submitted()
    assert user.delete_component("a")
    assert cluster.store.items(JOBS) == []
    assert not user.delete_component("a", 1)
    assert cluster.causes.of(uid) == ["the user deleted jobs/j"]


def test_a_deleted_pod_is_a_cause() -> None:
    cluster, user, uid = submitted()
    assert user.delete_pod("a")
    assert "deletionTimestamp" in cluster.pods()[0]["metadata"]
    assert not user.delete_pod("a")
    assert cluster.causes.of(uid) == ["the user deleted pods/p"]


def test_a_deleted_appwrapper_explains_no_retry() -> None:
    cluster, user, uid = submitted()
    user.delete("a")
    assert cluster.store.items(APPWRAPPERS) == []
    assert cluster.causes.of(uid) == []


def test_labels_come_and_go() -> None:
    cluster, user, _ = submitted()
    user.relabel(PODS, "p", {"x": "y", LABEL_COMPONENT: None})
    labels = cluster.pods()[0]["metadata"]["labels"]
    assert labels["x"] == "y"
    assert LABEL_COMPONENT not in labels


def test_a_stopped_queue() -> None:
    cluster, user, _ = submitted()
    cluster.create(LOCAL_QUEUES, {"metadata": {"name": "queue"}, "spec": {"clusterQueue": "q"}})
    user.stop_queue("queue")
    queue = cluster.store.get(LOCAL_QUEUES, TEAM, "queue")
    assert queue is not None
    assert queue["spec"]["stopPolicy"] == "HoldAndDrain"
