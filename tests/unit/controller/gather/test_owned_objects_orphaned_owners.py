"""What is left between a component that is gone and its pods, and goes on making them."""

from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.gather.owned_objects import LiveLists, orphaned_owners
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.objects import Resource
from shared.kinds.job import JOBS
from shared.kinds.ray import RAY_CLUSTERS
from shared.kinds.scaled import REPLICA_SETS, STATEFUL_SETS
from shared.kube.client import (
    ApiError,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from tests.support.builders.gathering import FakeDiscovery, Unserved
from tests.support.cluster.resources import JOB_SETS
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

UID = "workload.codeflare.dev/uid"


def appwrapper(*kinds: tuple[str, str]) -> AppWrapper:
    recorded = [{"name": "train", "apiVersion": version, "kind": kind} for version, kind in kinds]
    metadata = {"namespace": "team1", "name": "aw", "uid": "u1"}
    return AppWrapper({"metadata": metadata, "status": {"componentStatus": recorded}})


def component(**fields: Any) -> Component:
    return Component(**{"name": "train", "kind": "?", "presence": Presence.GONE, **fields})


def template(uid: str) -> dict[str, Any]:
    return {"template": {"metadata": {"labels": {UID: uid}}}}


def maker(name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", **metadata}, "spec": spec}


class MakersBench:
    def __init__(self, *lists: Any, obstacle: str = "") -> None:
        self.kube = FakeKube(lists=list(lists))
        kube: Any = self.kube
        self.served = FakeDiscovery()
        self.served.more = (RAY_CLUSTERS, STATEFUL_SETS, JOB_SETS)
        served: Any = self.served
        self.lists = LiveLists(kube, served, Unserved(kube, FakeClock(), obstacle))

    async def find(self, *kinds: tuple[str, str], **fields: Any) -> tuple[DeployedObject, ...]:
        found, unproved = await self.look(*kinds, **fields)
        assert unproved == ()
        return found

    async def look(
        self, *kinds: tuple[str, str], **fields: Any
    ) -> tuple[tuple[DeployedObject, ...], tuple[str, ...]]:
        components = [component(**fields)] * len(kinds)
        return await orphaned_owners(self.lists, appwrapper(*kinds), components)

    def asked(self) -> list[tuple[Resource, str]]:
        calls = self.kube.called("pages")
        assert all(call.args[1] == "team1" for call in calls)
        return [(call.args[0], call.kwargs["label_selector"]) for call in calls]


JOB_SET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
DEPLOYMENT = ("apps/v1", "Deployment")
RAY_JOB = ("ray.io/v1", "RayJob")
TRAIN_JOB = ("trainer.kubeflow.org/v1alpha1", "TrainJob")


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (DEPLOYMENT, [(REPLICA_SETS, f"{UID}=u1")]),
        (JOB_SET, [(JOBS, "jobset.sigs.k8s.io/jobset-name=train")]),
        (("kubeflow.org/v2beta1", "MPIJob"), [(JOBS, "app=train")]),
        (
            ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
            [(STATEFUL_SETS, "leaderworkerset.sigs.k8s.io/name=train")],
        ),
        (
            RAY_JOB,
            [
                (RAY_CLUSTERS, "ray.io/originated-from-cr-name=train"),
                (JOBS, "ray.io/originated-from-cr-name=train"),
            ],
        ),
        (
            TRAIN_JOB,
            [(JOB_SETS, f"{UID}=u1"), (JOBS, "jobset.sigs.k8s.io/jobset-name=train")],
        ),
        (("batch/v1", "Job"), []),
        (("v1", "Pod"), []),
    ],
)
async def test_makers_are_searched_among_these_kinds(
    kind: tuple[str, str], asked: list[Any]
) -> None:
    bench = MakersBench(*[[listed(9)]] * len(asked))
    assert await bench.find(kind) == ()
    assert bench.asked() == asked


async def test_those_that_make_our_pods_and_no_others() -> None:
    mine, other = maker("a", template("u1")), maker("b", template("u2"))
    going = maker("c", template("u1"), deletionTimestamp="now")
    bench = MakersBench([listed(9, mine, other), listed(9, going, maker("d", {}))])
    assert await bench.find(DEPLOYMENT) == (
        DeployedObject(REPLICA_SETS, "a", "uid-a", False),
        DeployedObject(REPLICA_SETS, "c", "uid-c", True),
    )


async def test_they_are_of_the_attempt_of_the_pods_that_they_create() -> None:
    pods = template("u1")
    pods["template"]["metadata"]["labels"]["workload.codeflare.dev/attempt"] = "2"
    bench = MakersBench([listed(9, maker("a", pods))])
    assert await bench.find(DEPLOYMENT) == (
        DeployedObject(REPLICA_SETS, "a", "uid-a", False, attempt="2"),
    )


async def test_a_ray_cluster_makes_pods_of_several_templates() -> None:
    head = maker("a", {"headGroupSpec": template("u1")})
    workers = maker("b", {"headGroupSpec": template("u2"), "workerGroupSpecs": [template("u1")]})
    bench = MakersBench([listed(9, head, workers)], [listed(9)])
    assert [each.name for each in await bench.find(RAY_JOB)] == ["a", "b"]


async def test_a_job_set_makes_pods_of_the_templates_of_its_jobs() -> None:
    def jobs(uid: str) -> dict[str, Any]:
        return {"replicatedJobs": [{"template": {"spec": template(uid)}}]}

    bench = MakersBench([listed(9, maker("a", jobs("u1")), maker("b", jobs("u2")))], [listed(9)])
    assert [each.name for each in await bench.find(TRAIN_JOB)] == ["a"]


async def test_each_once() -> None:
    found = [listed(9, maker("a", template("u1")))]
    assert len(await MakersBench(found, found).find(DEPLOYMENT, DEPLOYMENT)) == 1


async def test_existing_or_unnamed_components_have_no_orphaned_makers() -> None:
    assert await MakersBench().find(DEPLOYMENT, uid="uid-train") == ()
    assert await MakersBench().find(DEPLOYMENT, name="", presence=Presence.PLANNED) == ()


NOT_SERVED = NotFound(404, "Unknown", "the answer is not a Status")


@pytest.mark.parametrize(
    ("obstacle", "unproved"),
    [("", ()), ("its CRD is changing", ("RayCluster: its CRD is changing",))],
)
async def test_makers_of_an_unserved_kind_are_gone_only_if_there_can_be_none(
    obstacle: str, unproved: tuple[str, ...]
) -> None:
    bench = MakersBench([listed(9)], obstacle=obstacle)
    bench.served.hidden = {"ray.io/RayCluster"}
    assert await bench.look(RAY_JOB) == ((), unproved)


async def test_makers_are_listed_in_the_version_that_is_served() -> None:
    older = Resource("ray.io", "v1alpha1", "rayclusters", "RayCluster")
    bench = MakersBench([listed(9, maker("a", {"headGroupSpec": template("u1")}))], [listed(9)])
    bench.served.more = (older,)
    assert await bench.find(RAY_JOB) == (DeployedObject(older, "a", "uid-a", False),)


@pytest.mark.parametrize(
    "answer",
    [
        Unreachable("away"),
        [listed(9), Unreachable("midway")],
        TooManyRequests(429, "TooManyRequests", "later"),
        Unauthorized(401, "Unauthorized", "who?"),
    ],
)
async def test_an_api_server_that_does_not_answer_is_asked_again(answer: Any) -> None:
    with pytest.raises((Unreachable, ApiError)):
        await MakersBench(answer, obstacle="it is changing").find(DEPLOYMENT)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Forbidden(403, "Forbidden", "no"), "403 Forbidden: no"),
        (NOT_SERVED, "404 Unknown: the answer is not a Status"),
        (ApiError(500, "InternalError", "boom"), "500 InternalError: boom"),
        (ApiError(200, "NotAList", "it is no list"), "200 NotAList: it is no list"),
    ],
)
async def test_a_list_that_is_refused_is_no_proof(answer: Any, why: str) -> None:
    bench = MakersBench(answer, obstacle="it is changing")
    assert await bench.look(DEPLOYMENT) == ((), (f"replicasets cannot be listed: {why}",))
    assert bench.served.forgotten == ([REPLICA_SETS.gvk] if answer is NOT_SERVED else [])


async def test_makers_of_an_unreadable_component_are_not_searched() -> None:
    hidden = {"presence": Presence.UNKNOWN, "unreadable": "403"}
    assert await MakersBench().find(DEPLOYMENT, **hidden) == ()
