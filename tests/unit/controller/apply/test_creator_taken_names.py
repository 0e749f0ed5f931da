"""A generated name that another object has is replaced by another one, which status records first.

Each pass decides, writes the status and creates, as the applier does.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from controller.apply.creator import ComponentCreator
from controller.apply.status import status_after
from controller.facts.appwrapper_outline import component_texts
from controller.memory.memory import Memory
from controller.phases import decide
from controller.phases.actions import (
    Actions,
    ChooseAnotherName,
    CreateComponents,
    MoveTo,
    Reason,
    SetCondition,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    CreateProblem,
    FaultTolerance,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_COMPONENT
from shared.api.objects import Resource
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import NO_HOSTS
from shared.injection.component import generated_name
from shared.injection.pod_template import PodDefaults
from shared.kube.client import AlreadyExists, NotFound
from tests.support.cluster.resources import SERVICES
from tests.support.moments import NOW

AT_ONCE = WakeAfter(timedelta(0))
FIRST = generated_name("svc-", "u1", 1, 0)
SECOND = generated_name("svc-", "u1", 1, 0, FIRST)
THIRD = generated_name("svc-", "u1", 1, 0, SECOND)
OURS = {"uid": "u1", "kind": "AppWrapper", "name": "train", "controller": True}
Objects = dict[str, dict[str, Any]]


def existing(
    name: str, *owners: dict[str, Any], going: bool = False, component: str = ""
) -> dict[str, Any]:
    labels = {LABEL_COMPONENT: component} if component else {}
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "labels": labels}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": {**metadata, "ownerReferences": list(owners)}}


class Life:
    """One AppWrapper in Resuming with Services; the API server has `objects`."""

    def __init__(
        self, objects: Objects, *, metadata: Sequence[dict[str, str]] = ({"generateName": "svc-"},)
    ) -> None:
        self.objects = objects
        self.created: list[str] = []
        self.now = NOW
        components = [
            {"template": {"apiVersion": "v1", "kind": "Service", "metadata": each}}
            for each in metadata
        ]
        entries = [
            {
                "name": each.get("name") or generated_name(each["generateName"], "u1", 1, index),
                "kind": "Service",
                "apiVersion": "v1",
            }
            for index, each in enumerate(metadata)
        ]
        self.raw: dict[str, Any] = {
            "metadata": {"namespace": "team1", "name": "train", "uid": "u1"},
            "spec": {"components": components},
            "status": {"phase": "Resuming", "attempt": 1, "componentStatus": entries},
        }
        self.restart()

    def restart(self) -> None:
        """Starts another process, which remembers nothing."""
        self.creations = Memory().creations
        me: Any = self
        self._creator = ComponentCreator(
            me,
            me,
            me,
            self.creations,
            PodDefaults(),
            lambda *_: NO_HOSTS,
            ErrorAggregation(),
        )

    async def step(self, *, crash: bool = False, **config: Any) -> Actions:
        """Runs one pass. With `crash` the process ends after the status write."""
        fault_tolerance = FaultTolerance(**config)
        appwrapper = AppWrapper(self.raw)
        snapshot = Snapshot(
            phase=Phase.RESUMING,
            planned=True,
            timers=Timers(admission=NOW, warmup=NOW),
            components=tuple(
                Component(
                    name=entry["name"],
                    kind="Service",
                    presence=Presence.PRESENT
                    if index in self.creations.known("u1", 1).created
                    else Presence.PLANNED,
                )
                for index, entry in enumerate(appwrapper.component_statuses)
            ),
            create_problem=self.creations.known("u1", 1).problem,
        )
        actions = decide(snapshot, self.now, fault_tolerance)
        status = status_after(appwrapper, snapshot.timers, actions, self.now)
        self.raw = {**self.raw, "status": status}
        if crash:
            self.restart()
        elif CreateComponents() in actions:
            item = AppWrapper(self.raw)
            texts = component_texts(item.raw)
            await self._creator.create_missing(item, texts, self.now, fault_tolerance)
        return actions

    @property
    def names(self) -> list[str]:
        return [each["name"] for each in self.raw["status"]["componentStatus"]]

    @property
    def problem(self) -> CreateProblem | None:
        return self.creations.known("u1", 1).problem

    # The API server, its discovery and the watches.

    async def resource_for(self, gvk: Any, *, since: int) -> Resource:
        return SERVICES

    def moment(self) -> int:
        return 0

    async def ensure(self, resource: Resource) -> None: ...

    def assume(self, resource: Resource, written: Any) -> None: ...

    async def get(self, _resource: Resource, _namespace: str, name: str) -> dict[str, Any]:
        if name not in self.objects:
            raise NotFound(404, "NotFound", f"no {name}")
        return self.objects[name]

    async def create(self, _resource: Resource, _namespace: str, body: dict[str, Any]) -> Any:
        name = body["metadata"]["name"]
        assert name in self.names, "its status names it before it is created"
        if name in self.objects:
            raise AlreadyExists(409, "AlreadyExists", f"{name} exists")
        self.created.append(name)
        self.objects[name] = existing(name, OURS)
        return self.objects[name]


OTHERS = {"uid": "u2", "kind": "AppWrapper", "name": "other", "controller": True}


@pytest.mark.parametrize(
    ("other", "whose"),
    [
        (existing(FIRST), "has no owner"),
        (existing(FIRST, OTHERS), "is owned by AppWrapper other"),
        (existing(FIRST, going=True), "has no owner"),
        (existing(FIRST, OURS, component="7"), "is spec.components[7]"),
    ],
    ids=["no owner", "another AppWrapper", "deleting", "another component"],
)
async def test_a_taken_generated_name_is_replaced_at_once(
    other: dict[str, Any], whose: str
) -> None:
    life = Life({FIRST: other})
    await life.step()
    problem = life.creations.known("u1", 1).problem
    assert problem == CreateProblem(
        fatal=False,
        message=f"spec.components[0]: Service {FIRST} exists already and {whose}",
        retry_at=NOW,
        taken=(0, FIRST),
        first_at=NOW,
    )
    assert life.names == [FIRST]
    # Without a grace period, too: the name says nothing about the cluster.
    actions = await life.step(admission_grace=timedelta(0), retry_limit=0)
    assert actions == (ChooseAnotherName(0), CreateComponents(), AT_ONCE)
    assert life.names == life.created == [SECOND]
    assert not life.creations.known("u1", 1).failures
    assert life.objects[FIRST] == other


async def test_a_second_taken_name_is_replaced_after_a_pause() -> None:
    life = Life({FIRST: existing(FIRST), SECOND: existing(SECOND)})
    await life.step()
    await life.step()
    message = f"spec.components[0]: Service {SECOND} exists already and has no owner"
    reported = SetCondition("ResourcesDeployed", True, Reason.CREATE_FAILED, message)
    assert await life.step() == (reported, WakeAfter(timedelta(seconds=2)))
    life.now += timedelta(seconds=2)
    assert await life.step() == (ChooseAnotherName(0), CreateComponents(), AT_ONCE)
    assert life.names == life.created == [THIRD]


async def test_taken_names_end_the_attempt_with_the_admission_period() -> None:
    life = Life({FIRST: existing(FIRST), SECOND: existing(SECOND)})
    await life.step()
    await life.step()
    actions = await life.step(admission_grace=timedelta(0))
    move = next(each for each in actions if isinstance(each, MoveTo))
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.CREATE_FAILED)


async def test_a_crash_after_the_name_is_recorded_creates_the_component_once() -> None:
    life = Life({FIRST: existing(FIRST)})
    await life.step()
    await life.step(crash=True)
    assert (life.names, life.created) == ([SECOND], [])
    await life.step()
    assert life.created == [SECOND]


async def test_a_crash_before_the_name_is_recorded_tries_the_first_name_again() -> None:
    life = Life({FIRST: existing(FIRST)})
    await life.step()
    life.restart()
    await life.step()
    await life.step()
    assert life.names == life.created == [SECOND]


async def test_a_created_object_whose_answer_was_lost_is_adopted() -> None:
    life = Life({FIRST: existing(FIRST, OURS)})
    await life.step()
    assert life.creations.known("u1", 1).created.get(0) == f"uid-{FIRST}"
    assert (life.names, life.created) == ([FIRST], [])


async def test_a_name_that_was_replaced_already_is_not_replaced_again() -> None:
    """The status was written, and the create was not sent."""
    life = Life({})
    life.creations.record_problem(
        "u1", 1, CreateProblem(fatal=False, message="taken", retry_at=NOW, taken=(0, "svc-old"))
    )
    actions = await life.step()
    assert ChooseAnotherName(0) not in actions
    assert life.names == life.created == [FIRST]


async def test_a_generated_name_that_an_earlier_component_has_is_replaced() -> None:
    taken = generated_name("svc-", "u1", 1, 1)
    life = Life({}, metadata=[{"name": taken}, {"generateName": "svc-"}])
    await life.step()
    assert life.problem == CreateProblem(
        fatal=False,
        message=f"spec.components[1]: Service {taken} is also spec.components[0]",
        retry_at=NOW,
        taken=(1, taken),
        first_at=NOW,
    )
    await life.step()
    other = generated_name("svc-", "u1", 1, 1, taken)
    assert life.names == life.created == [taken, other]


async def test_a_fixed_name_that_another_object_has_stays_an_error() -> None:
    life = Life({"svc": existing("svc")}, metadata=[{"name": "svc", "generateName": "svc-"}])
    await life.step()
    message = "spec.components[0]: Service svc exists already and has no owner"
    assert life.problem == CreateProblem(fatal=True, message=message)
    move = next(each for each in await life.step() if isinstance(each, MoveTo))
    assert (move.phase, move.message) == (Phase.FAILED, message)
    assert life.names == ["svc"]


def test_each_further_name_differs_and_has_the_length_of_the_first() -> None:
    names = [FIRST]
    for _ in range(1000):
        names.append(generated_name("svc-", "u1", 1, 0, names[-1]))
    assert len(set(names)) == len(names)
    assert {len(each) for each in names} == {len("svc-") + 5}
