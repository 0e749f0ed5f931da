"""The garbage collector: gone owners, foreground, background and orphan deletion."""

import pytest

from shared.api.objects import CONFIGMAPS, PODS, JsonObject, Resource
from shared.kinds.job import JOBS
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, bound_pod


def collected() -> SmallCluster:
    """Create a Job with a ConfigMap and a running pod, which has a ConfigMap of its own."""
    cluster = SmallCluster()
    GarbageCollector(cluster)
    job = cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": {}})
    cluster.create(CONFIGMAPS, {"metadata": {"name": "of-job", **owned_by(job, blocks=False)}})
    pod = bound_pod("p", hang="running")
    pod["metadata"].update(owned_by(job))
    owner = cluster.create(PODS, pod)
    cluster.create(CONFIGMAPS, {"metadata": {"name": "of-pod", **owned_by(owner)}})
    cluster.advance(1)
    return cluster


def owned_by(owner: JsonObject, *, blocks: bool = True) -> JsonObject:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": blocks,
    }
    return {"ownerReferences": [reference]}


def names(cluster: SmallCluster, resource: Resource) -> list[str]:
    """Return the names of the objects; those that are being deleted end in `-`."""
    return [
        each["metadata"]["name"] + "-" * ("deletionTimestamp" in each["metadata"])
        for each in cluster.store.items(resource)
    ]


def everything(cluster: SmallCluster) -> list[str]:
    return names(cluster, JOBS) + names(cluster, PODS) + names(cluster, CONFIGMAPS)


def test_in_the_background_the_owner_goes_first() -> None:
    cluster = collected()
    cluster.store.delete(JOBS, TEAM, "j", propagation="Background")
    assert everything(cluster) == ["p", "of-job", "of-pod"]
    cluster.advance(1)
    assert everything(cluster) == ["p-", "of-pod"]
    cluster.store.delete(PODS, TEAM, "p", grace=0)
    cluster.advance(1)
    assert everything(cluster) == []


def test_in_the_foreground_the_owner_waits_for_dependents_that_block_it() -> None:
    cluster = collected()
    cluster.store.delete(JOBS, TEAM, "j", propagation="Foreground")
    cluster.advance(1)
    assert everything(cluster) == ["j-", "p-"]
    cluster.store.delete(PODS, TEAM, "p", grace=0)
    cluster.advance(1)
    assert everything(cluster) == []


def test_a_foreground_deletion_does_not_wait_for_dependents_that_do_not_block() -> None:
    cluster = SmallCluster()
    GarbageCollector(cluster)
    job = cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": {}})
    pod = bound_pod("p", hang="running")
    pod["metadata"].update(owned_by(job, blocks=False))
    cluster.create(PODS, pod)
    cluster.store.delete(JOBS, TEAM, "j", propagation="Foreground")
    cluster.advance(1)
    assert everything(cluster) == ["p-"]


def test_orphans_lose_their_reference_and_stay() -> None:
    cluster = collected()
    cluster.store.delete(JOBS, TEAM, "j", propagation="Orphan")
    cluster.advance(5)
    assert everything(cluster) == ["p", "of-job", "of-pod"]
    assert not any("ownerReferences" in each["metadata"] for each in cluster.pods())


@pytest.mark.parametrize("uid", ["another", ""])
def test_an_object_whose_owner_never_existed_is_deleted(uid: str) -> None:
    cluster = collected()
    reference = owned_by(cluster.job("j"))["ownerReferences"][0]
    late = {"name": "late", "ownerReferences": [{**reference, "uid": uid}]}
    cluster.create(CONFIGMAPS, {"metadata": late})
    cluster.advance(1)
    assert "late" not in everything(cluster)


def test_an_object_that_appears_after_the_end_of_its_owner_is_deleted() -> None:
    cluster = collected()
    late = {"name": "late", **owned_by(cluster.job("j"))}
    cluster.store.delete(JOBS, TEAM, "j", propagation="Background")
    cluster.create(CONFIGMAPS, {"metadata": late})
    cluster.advance(1)
    assert "late" not in everything(cluster)


def test_one_owner_that_exists_keeps_an_object_and_the_gone_one_is_dropped() -> None:
    cluster = collected()
    other = cluster.create(JOBS, {"metadata": {"name": "other"}, "spec": {}})
    both = owned_by(cluster.job("j"))["ownerReferences"] + owned_by(other)["ownerReferences"]
    cluster.create(CONFIGMAPS, {"metadata": {"name": "shared", "ownerReferences": both}})
    cluster.store.delete(JOBS, TEAM, "j", propagation="Background")
    cluster.advance(1)
    shared = cluster.store.get(CONFIGMAPS, TEAM, "shared")
    assert shared is not None
    owners = [each["name"] for each in shared["metadata"]["ownerReferences"]]
    assert owners == ["other"]
