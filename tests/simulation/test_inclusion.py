"""The check of trace inclusion itself, on lives of the simulated cluster."""

from collections.abc import Callable

import pytest

from shared.api.objects import NODES, PODS, JsonObject
from shared.kinds.job import JOBS
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.job_controller import JobController
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.node_lifecycle import NodeLifecycle
from tests.simulation.actors.nodes import Nodes
from tests.simulation.actors.pod_gc import PodGc
from tests.simulation.actors.scheduler import Scheduler
from tests.simulation.actors.small_cluster import TEAM, SmallCluster
from tests.simulation.api.store import Write
from tests.simulation.inclusion import Life, explained
from tests.support.builders.jobs import job, restarted_job
from tests.support.observer.recording import merge_patch, patched


class Lived(SmallCluster):
    """A cluster with all programs; `life` is what was written since its start."""

    def __init__(self) -> None:
        super().__init__(nodes=2)
        for actor in (JobController, Scheduler, Kubelet, GarbageCollector, PodGc):
            actor(self)
        self.nodes = Nodes(self, NodeLifecycle(self))
        self.objects = self.store.items(NODES)
        self.writes.clear()

    def life(self) -> JsonObject:
        recorded = [each for each in self.writes if each.resource in (PODS, JOBS, NODES)]
        objects = [{"resource": "nodes", "object": each} for each in self.objects]
        return {"acts": [], "objects": objects, "writes": [*map(_recorded, recorded)]}


def _recorded(write: Write) -> JsonObject:
    metadata = write.item["metadata"]
    return {
        "at": write.at,
        "type": write.type,
        "resource": write.resource.plural,
        "uid": metadata["uid"],
        "writers": ["the test"] if write.type == "ADDED" and write.resource == JOBS else [],
        "patch": merge_patch(write.old or {}, write.item),
    }


def succeeds(cluster: Lived) -> None:
    cluster.create(JOBS, job("train", run_for="3s"))
    cluster.advance(20)


def fails(cluster: Lived) -> None:
    body = job("train", run_for="3s", exit_code="1")
    body["spec"]["template"]["metadata"]["annotations"][
        "simulation.localcluster.dev/fail-index"
    ] = "x"
    cluster.create(JOBS, job("train", run_for="3s", exit_code="1"))
    cluster.advance(40)


def loops(cluster: Lived) -> None:
    body = restarted_job("train", 1, run_for="2s", fail_restarts="2", exit_code="1")
    cluster.create(JOBS, body)
    cluster.advance(60)


def deleted(cluster: Lived) -> None:
    cluster.create(JOBS, job("train", hang="running"))
    cluster.advance(10)
    cluster.store.delete(JOBS, TEAM, "train", propagation="Foreground")
    cluster.advance(60)


@pytest.mark.parametrize("lives", [succeeds, fails, loops])
def test_a_life_that_the_actors_made_is_included(lives: Callable[[Lived], None]) -> None:
    cluster = Lived()
    lives(cluster)
    counts, missing = explained(Life(cluster.life()))
    assert missing == []
    assert set(counts) >= {"JobController", "Kubelet", "Scheduler"}


def test_the_deletion_by_a_user_has_no_explanation_and_all_that_follows_has() -> None:
    cluster = Lived()
    deleted(cluster)
    life = cluster.life()
    counts, missing = explained(Life(life))
    assert len(missing) == 1
    assert "MODIFIED jobs/train" in missing[0]
    assert counts["GarbageCollector"] == 3
    life["acts"] = [cluster.writes[0].item["metadata"]["uid"]]
    assert explained(Life(life))[1] == []


@pytest.mark.parametrize(
    ("resource", "wrong"),
    [
        (JOBS, {"status": {"succeeded": 3}}),
        (JOBS, {"status": {"active": 7}}),
        (PODS, {"status": {"phase": "Unknown"}}),
        (PODS, {"spec": {"nodeName": "n9"}}),
    ],
)
def test_a_step_that_no_actor_makes_is_missing(resource: object, wrong: JsonObject) -> None:
    cluster = Lived()
    succeeds(cluster)
    life = cluster.life()
    last = [each for each in life["writes"] if each["resource"] == getattr(resource, "plural", "")][
        -1
    ]
    last["patch"] = patched(last["patch"], wrong)
    assert len(explained(Life(life))[1]) == 1


def test_a_patch_makes_the_new_object_of_the_old_one() -> None:
    old = {"a": {"b": 1, "c": [1]}, "d": 2}
    new = {"a": {"b": 1, "c": [2]}, "e": {"f": 3}}
    assert merge_patch(old, new) == {"a": {"c": [2]}, "d": None, "e": {"f": 3}}
    assert patched(old, merge_patch(old, new)) == new
