from datetime import timedelta
from typing import Any

import pytest

from controller.apply.creator import ComponentCreator
from controller.facts.appwrapper_outline import component_texts
from controller.memory.memory import Memory
from controller.phases.snapshot import CreateProblem, FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.api.objects import Resource
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import NO_HOSTS, AvoidedHosts
from shared.injection.pod_template import PodDefaults
from shared.kube.client import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Propagation,
    TooManyRequests,
    Unreachable,
)
from tests.support.builders.gathering import FakeDiscovery
from tests.support.cluster.resources import JOBS, SERVICES
from tests.support.fakes.fake_kube import FakeKube
from tests.support.moments import NOW

CONFIG = FaultTolerance(forceful_deletion_grace=timedelta(hours=24))
EXISTS = AlreadyExists(409, "AlreadyExists", "already exists")


class Watches:
    def __init__(self) -> None:
        self.ensured: list[Resource] = []
        self.observed: list[str] = []

    async def ensure(self, resource: Resource) -> None:
        self.ensured.append(resource)

    def assume(self, resource: Resource, written: dict[str, Any]) -> None:
        assert resource in self.ensured
        self.observed.append(written["metadata"]["name"])


def template(kind: str = "Service", version: str = "v1", name: str = "a") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


KEPT = {"annotations": {"workload.codeflare.dev.appwrapper/keep": "true"}}


def appwrapper(*templates: dict[str, Any], **component: Any) -> AppWrapper:
    return AppWrapper(
        {
            "metadata": {
                "namespace": "team1",
                "name": "train",
                "uid": "u1",
                "resourceVersion": "7",
            },
            "spec": {"components": [{"template": each} | component for each in templates]},
            "status": {
                "attempt": 2,
                "componentStatus": [
                    {
                        "name": each["metadata"]["name"],
                        "kind": each["kind"],
                        "apiVersion": each["apiVersion"],
                    }
                    for each in templates
                ],
            },
        }
    )


class CreatorBench:
    """A creator with everything around it."""

    def __init__(self, **answers: list[Any]) -> None:
        self.kube = FakeKube(answers=answers)
        self.watches = Watches()
        self.avoided = NO_HOSTS
        self.asked: list[str] = []
        self.creations = Memory().creations
        self.now = NOW
        kube: Any = self.kube
        self.served = FakeDiscovery()
        self.served.more = (SERVICES,)
        served: Any = self.served
        asked = (PodDefaults(), self._avoided, ErrorAggregation())
        self.creator = ComponentCreator(kube, served, self.watches, self.creations, *asked)

    def _avoided(self, item: AppWrapper) -> AvoidedHosts:
        self.asked.append(item.name)
        return self.avoided

    async def create(self, *templates: dict[str, Any], **component: Any) -> None:
        item = appwrapper(*templates, **component)
        await self.creator.create_missing(item, component_texts(item.raw), self.now, CONFIG)

    @property
    def problem(self) -> CreateProblem | None:
        return self.creations.known("u1", 2).problem

    def created(self) -> list[str]:
        return [call.args[2]["metadata"]["name"] for call in self.kube.called("create")]


def made(
    name: str, *, owner: str = "u1", attempt: str = "2", component: str = "", going: bool = False
) -> dict[str, Any]:
    labels = {"workload.codeflare.dev/attempt": attempt} if attempt else {}
    if component:
        labels["workload.codeflare.dev/component"] = component
    owners = [{"uid": owner, "kind": "AppWrapper", "name": "train", "controller": True}]
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "labels": labels}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": {**metadata, "ownerReferences": owners if owner else []}}


async def test_components_are_created_in_order_and_observed() -> None:
    bench = CreatorBench(create=[made("a"), made("b")])
    job = template("Job", "batch/v1", "b") | {"spec": {"template": {"spec": {}}}}
    await bench.create(template(name="a"), job)
    assert bench.created() == bench.watches.observed == ["a", "b"]
    assert bench.watches.ensured == [SERVICES, JOBS]
    bodies = [call.args[2] for call in bench.kube.called("create")]
    pod_template = bodies[1]["spec"]["template"]
    labels = [each["metadata"]["labels"] for each in (*bodies, pod_template)]
    label = "workload.codeflare.dev/component"
    assert [each[label] for each in labels] == ["0", "1", "1"]
    assert bench.problem is None


async def test_no_annotation_gives_pods_a_longer_grace_period_than_the_operator() -> None:
    bench = CreatorBench(create=[made("a")])
    slow = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 3600}}}}
    await bench.create(template("Job", "batch/v1", "a") | slow)
    (call,) = bench.kube.called("create")
    assert call.args[2]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 600


async def test_hosts_to_avoid_are_read_once_for_all_components() -> None:
    bench = CreatorBench(create=[made("a"), made("b")])
    bench.avoided = AvoidedHosts(unwanted=("host-1",))
    job = template("Job", "batch/v1", "b") | {"spec": {"template": {"spec": {}}}}
    await bench.create(template(name="a"), job)
    assert bench.asked == ["train"]
    affinity = bench.kube.called("create")[1].args[2]["spec"]["template"]["spec"]["affinity"]
    (term,) = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["preference"]["matchExpressions"][0]["values"] == ["host-1"]


async def test_a_created_component_is_not_created_again() -> None:
    bench = CreatorBench(create=[made("b")])
    bench.creations.record_success("u1", 2, 0, "j1")
    await bench.create(template(name="a"), template(name="b"))
    assert bench.created() == ["b"]


async def test_the_first_problem_ends_it() -> None:
    bench = CreatorBench(create=[Invalid(422, "Invalid", "no ports")])
    await bench.create(template(name="a"), template(name="b"))
    assert bench.created() == ["a"]
    assert bench.problem == CreateProblem(
        fatal=True, message="spec.components[0]: 422 Invalid: no ports", refused=0
    )


@pytest.mark.parametrize("attempt", ["2", ""], ids=["ours", "the Go operator's"])
async def test_an_object_owned_by_the_appwrapper_is_adopted(attempt: str) -> None:
    bench = CreatorBench(create=[EXISTS], get=[made("a", attempt=attempt)])
    await bench.create(template())
    assert bench.creations.known("u1", 2).created.get(0) == "uid-a"
    assert bench.watches.observed == ["a"]


@pytest.mark.parametrize(
    ("owner", "whose"), [("u2", "is owned by AppWrapper train"), ("", "has no owner")]
)
async def test_an_object_of_another_owner_is_fatal(owner: str, whose: str) -> None:
    bench = CreatorBench(create=[EXISTS], get=[made("a", owner=owner)])
    await bench.create(template())
    assert bench.problem == CreateProblem(
        fatal=True,
        message=f"spec.components[0]: Service a exists already and {whose}",
    )


async def test_an_object_of_another_owner_that_is_going_is_waited_for() -> None:
    bench = CreatorBench(create=[EXISTS], get=[made("a", owner="", going=True)])
    await bench.create(template())
    assert bench.problem == CreateProblem(
        fatal=False,
        message="spec.components[0]: Service a is still being deleted",
        retry_at=NOW + timedelta(seconds=1),
        first_at=NOW,
    )


@pytest.mark.parametrize("version", ["batch/v1", "batch/v2"])
async def test_two_components_of_one_kind_and_name_are_an_error(version: str) -> None:
    """Versions of a Kind are the same objects. The second would adopt the first."""
    job = template("Job", "batch/v1") | {"spec": {"template": {"spec": {}}}}
    bench = CreatorBench(create=[made("a"), made("a")])
    await bench.create(job, template(), {**job, "apiVersion": version})
    assert bench.created() == ["a", "a"]
    assert bench.problem == CreateProblem(
        fatal=True,
        message="spec.components[2]: Job a is also spec.components[0]: "
        "give each component its own name",
        refused=2,
    )


async def test_an_object_labelled_as_another_component_is_not_adopted() -> None:
    bench = CreatorBench(create=[EXISTS], get=[made("a", component="1")])
    await bench.create(template())
    assert bench.problem == CreateProblem(
        fatal=True,
        message="spec.components[0]: Service a exists already and is spec.components[1]",
    )


@pytest.mark.parametrize("attempt", ["1", "2"])
async def test_a_kept_object_is_looked_up_and_adopted(attempt: str) -> None:
    bench = CreatorBench(get=[made("a", attempt=attempt)])
    await bench.create(template(), **KEPT)
    assert bench.creations.known("u1", 2).created.get(0) == "uid-a"
    assert [call.method for call in bench.kube.calls] == ["get"]
    assert bench.watches.observed == ["a"]


async def test_a_missing_kept_object_is_created_again() -> None:
    bench = CreatorBench(get=[NotFound(404, "NotFound", "gone")], create=[made("a")])
    await bench.create(template(), **KEPT)
    assert bench.created() == ["a"]
    assert bench.problem is None


@pytest.mark.parametrize(
    ("answer", "fatal", "message"),
    [
        (made("a", attempt="1", going=True), False, "Service a is still being deleted"),
        (made("a", owner="u2"), True, "Service a exists already and is owned by AppWrapper train"),
        (Unreachable("timed out"), False, "timed out"),
    ],
    ids=["going", "another's", "unseen"],
)
async def test_a_kept_object_that_cannot_be_adopted(answer: Any, fatal: bool, message: str) -> None:
    bench = CreatorBench(get=[answer])
    await bench.create(template(), **KEPT)
    assert bench.problem == CreateProblem(
        fatal=fatal,
        message=f"spec.components[0]: {message}",
        retry_at=None if fatal else NOW + timedelta(seconds=1),
        first_at=None if fatal else NOW,
    )


async def test_a_component_with_pods_is_not_kept() -> None:
    """What an earlier attempt left of it goes first, as ever."""
    job = template("Job", "batch/v1") | {"spec": {"template": {"spec": {}}}}
    bench = CreatorBench(create=[EXISTS], get=[made("a", attempt="1")], delete=[None])
    await bench.create(job, **KEPT)
    assert [call.method for call in bench.kube.calls] == ["create", "get", "delete"]


async def test_a_negative_number_of_pods_is_an_error() -> None:
    job = template("Job", "batch/v1") | {"spec": {"template": {"spec": {}}}}
    bench = CreatorBench()
    await bench.create(job, podSets=[{"path": "template.spec.template", "replicas": -1}])
    assert bench.problem == CreateProblem(
        fatal=True, message="spec.components[0]: podSets[0].replicas is -1", refused=0
    )


async def test_an_object_of_an_earlier_attempt_is_deleted_first() -> None:
    bench = CreatorBench(create=[EXISTS], get=[made("a", attempt="1")], delete=[None])
    await bench.create(template())
    (delete,) = bench.kube.called("delete")
    assert delete.args == (SERVICES, "team1", "a")
    assert delete.kwargs == {"uid": "uid-a", "propagation": Propagation.FOREGROUND}
    assert bench.problem == CreateProblem(
        fatal=False,
        message="spec.components[0]: Service a is left over from attempt 1",
        retry_at=NOW + timedelta(seconds=1),
        first_at=NOW,
    )


async def test_a_name_that_becomes_free_is_tried_again() -> None:
    bench = CreatorBench(create=[EXISTS], get=[NotFound(404, "NotFound", "gone")])
    await bench.create(template())
    assert bench.problem is not None
    assert not bench.problem.fatal


@pytest.mark.parametrize(
    ("error", "fatal", "refused"),
    [
        (Forbidden(403, "Forbidden", "exceeded quota"), False, 0),
        (Forbidden(403, "Forbidden", 'violates PodSecurity "baseline:latest"'), True, 0),
        (Unreachable("timed out"), False, None),
        (ApiError(500, "InternalError", "webhook"), False, None),
        (ApiError(408, "Timeout", "perhaps"), False, None),
        (Conflict(409, "Conflict", "try again"), False, None),
        (TooManyRequests(429, "TooManyRequests", "later"), False, None),
        (ApiError(400, "BadRequest", "not a Service"), True, 0),
        (ApiError(413, "RequestEntityTooLarge", "too large"), True, 0),
        (Invalid(422, "Invalid", "no"), True, 0),
    ],
)
async def test_which_answers_are_fatal_and_which_leave_it_open_whether_it_was_created(
    error: Exception, fatal: bool, refused: int | None
) -> None:
    bench = CreatorBench(create=[error])
    await bench.create(template())
    assert bench.problem is not None
    assert bench.problem.message == f"spec.components[0]: {error}"
    assert (bench.problem.fatal, bench.problem.refused) == (fatal, refused)


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), Unreachable("timed out")])
async def test_one_that_exists_but_cannot_be_seen_is_tried_again(error: Exception) -> None:
    """Within the admission period: raising would put off its end for ever."""
    bench = CreatorBench(create=[EXISTS], get=[error])
    await bench.create(template())
    assert bench.problem == CreateProblem(
        fatal=False,
        message="spec.components[0]: Service a exists already, and its owner cannot be read: "
        f"{error}",
        retry_at=NOW + timedelta(seconds=1),
        first_at=NOW,
    )


async def test_a_kind_that_moved_is_looked_up_again() -> None:
    bench = CreatorBench(
        create=[NotFound(404, "NotFound", "the server could not find the resource")]
    )
    await bench.create(template())
    assert bench.served.forgotten == [SERVICES.gvk]
    assert bench.problem is not None
    assert not bench.problem.fatal


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [(None, [1, 2, 4, 8, 15, 15]), (3, [3, 3, 4, 8, 15, 15]), (40, [40] * 6)],
)
async def test_pauses_grow_to_a_limit_and_obey_a_server_that_asks_for_longer_ones(
    retry_after: float | None, expected: list[int]
) -> None:
    busy = ApiError(429, "TooManyRequests", "slow down", retry_after=retry_after)
    bench = CreatorBench(create=[busy] * 6)
    for pause in expected:
        await bench.create(template())
        assert bench.problem is not None
        assert bench.problem.retry_at == bench.now + timedelta(seconds=pause)
        assert bench.problem.first_at == NOW
        bench.now = bench.problem.retry_at


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            template("Thing", "example.org/v1"),
            'no matches for kind "Thing" in version "example.org/v1"',
        ),
        (template("Node"), "Node is not namespaced, so no AppWrapper can own it"),
        (
            {**template("Job", "batch/v1"), "spec": {}},
            "the Job needs spec.template: template.spec has no field 'template'",
        ),
    ],
)
async def test_an_invalid_component_is_a_fatal_problem(body: dict[str, Any], message: str) -> None:
    bench = CreatorBench()
    await bench.create(body)
    assert bench.problem == CreateProblem(
        fatal=True, message=f"spec.components[0]: {message}", refused=0
    )
