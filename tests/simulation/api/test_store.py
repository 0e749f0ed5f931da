"""The simulated API server's rules of writes and deletions."""

from typing import Any

import pytest

from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NAMESPACES, PODS, JsonObject, Resource
from shared.kube.responses import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from tests.simulation.api.store import Store


@pytest.fixture
def store() -> Store:
    made = Store(lambda: 5.0)
    made.create(NAMESPACES, None, {"metadata": {"name": "team"}})
    return made


def _types(store: Store, resource: Resource) -> list[str]:
    return [write.type for write in store.history[resource]]


def _pod(store: Store, node: str = "", **metadata: Any) -> JsonObject:
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 30} if node else {}
    return store.create(PODS, "team", {"metadata": {"name": "p", **metadata}, "spec": spec})


def _appwrapper(store: Store, **metadata: Any) -> JsonObject:
    body = {"metadata": {"name": "a", **metadata}, "spec": {"suspend": True}, "status": {"x": 1}}
    return store.create(APPWRAPPERS, "team", body)


def test_a_create_drops_the_status_and_sets_what_identifies_the_object(store: Store) -> None:
    item = _appwrapper(store)
    assert "status" not in item
    meta = item["metadata"]
    assert (meta["generation"], meta["creationTimestamp"]) == (1, "2026-01-01T00:00:05Z")
    again = store.create(APPWRAPPERS, "team", {"metadata": {"generateName": "a-"}, "spec": {}})
    assert again["metadata"]["name"] == "a-00001"
    assert again["metadata"]["uid"] != meta["uid"]


def test_a_create_of_a_taken_name_or_in_an_ending_namespace_is_refused(store: Store) -> None:
    _appwrapper(store)
    with pytest.raises(AlreadyExists):
        _appwrapper(store)
    store.delete(NAMESPACES, None, "team")
    with pytest.raises(Forbidden):
        store.create(CONFIGMAPS, "team", {"metadata": {"name": "c"}})
    with pytest.raises(NotFound):
        store.create(CONFIGMAPS, "nowhere", {"metadata": {"name": "c"}})


def test_an_update_writes_only_its_own_part(store: Store) -> None:
    old = _appwrapper(store)
    wanted = {**old, "spec": {"suspend": False}, "status": {"phase": "Running"}}
    status = store.update(APPWRAPPERS, "team", "a", wanted, "status")
    assert status["spec"] == {"suspend": True}
    assert status["metadata"]["generation"] == 1
    wanted = {**status, "spec": {"suspend": False}, "status": {"phase": "Failed"}}
    spec = store.update(APPWRAPPERS, "team", "a", wanted)
    assert (spec["spec"], spec["status"]) == ({"suspend": False}, {"phase": "Running"})
    assert spec["metadata"]["generation"] == 2


def test_an_update_that_changes_nothing_writes_nothing(store: Store) -> None:
    old = _appwrapper(store)
    revision = store.revision
    assert store.update(APPWRAPPERS, "team", "a", old) == old
    assert store.revision == revision


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"resourceVersion": "1"}, Conflict),
        ({"resourceVersion": ""}, Invalid),
        ({"uid": "another"}, Conflict),
    ],
)
def test_an_update_with_a_wrong_precondition_fails(
    store: Store, metadata: JsonObject, error: type[ApiError]
) -> None:
    old = _appwrapper(store)
    with pytest.raises(error):
        store.update(APPWRAPPERS, "team", "a", {**old, "metadata": {**old["metadata"], **metadata}})


def test_an_object_with_a_finalizer_disappears_with_its_last_finalizer(store: Store) -> None:
    _appwrapper(store, finalizers=["x"])
    marked = store.delete(APPWRAPPERS, "team", "a")
    assert (marked["metadata"]["deletionGracePeriodSeconds"], marked["metadata"]["generation"]) == (
        0,
        2,
    )
    with pytest.raises(Invalid):
        store.change(
            APPWRAPPERS, "team", "a", lambda item: item["metadata"]["finalizers"].append("y")
        )
    store.change(APPWRAPPERS, "team", "a", lambda item: item["metadata"].pop("finalizers"))
    assert store.get(APPWRAPPERS, "team", "a") is None
    assert _types(store, APPWRAPPERS) == ["ADDED", "MODIFIED", "DELETED"]
    assert store.history[APPWRAPPERS][-1].item["metadata"]["finalizers"] == ["x"]


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
def test_a_propagation_that_waits_for_the_garbage_collector_adds_its_finalizer(
    store: Store, propagation: str, finalizers: list[str] | None
) -> None:
    _appwrapper(store)
    store.delete(APPWRAPPERS, "team", "a", propagation=propagation)
    left = store.get(APPWRAPPERS, "team", "a")
    assert (None if left is None else left["metadata"]["finalizers"]) == finalizers


def test_a_pod_without_a_node_disappears_at_once(store: Store) -> None:
    _pod(store)
    store.delete(PODS, "team", "p")
    assert _types(store, PODS) == ["ADDED", "MODIFIED", "DELETED"]


def test_a_running_pod_waits_for_its_kubelet(store: Store) -> None:
    _pod(store, "node")
    meta = store.delete(PODS, "team", "p")["metadata"]
    assert (meta["deletionGracePeriodSeconds"], meta["deletionTimestamp"]) == (
        30,
        "2026-01-01T00:00:35Z",
    )
    assert store.delete(PODS, "team", "p", grace=60)["metadata"] == meta
    meta = store.delete(PODS, "team", "p", grace=10)["metadata"]
    assert meta["deletionTimestamp"] == "2026-01-01T00:00:15Z"
    store.delete(PODS, "team", "p", grace=0)
    assert store.get(PODS, "team", "p") is None


def test_a_pod_with_a_finalizer_stays_after_its_grace(store: Store) -> None:
    _pod(store, "node", finalizers=["x"])
    store.delete(PODS, "team", "p", grace=0)
    assert store.get(PODS, "team", "p") is not None
    store.change(PODS, "team", "p", lambda item: item["metadata"].pop("finalizers"))
    assert store.get(PODS, "team", "p") is None


def test_a_delete_of_another_uid_is_a_conflict(store: Store) -> None:
    _pod(store)
    with pytest.raises(Conflict):
        store.delete(PODS, "team", "p", uid="another")
