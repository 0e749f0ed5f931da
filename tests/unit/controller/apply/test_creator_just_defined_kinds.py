"""Components of a Kind that was missed a moment ago, for a controller that remembers it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from controller.apply.creator import ComponentCreator
from controller.facts.appwrapper_outline import component_texts
from controller.memory.memory import Creations, Memory
from controller.phases.snapshot import CreateProblem, FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.api.objects import GroupVersionKind, Resource
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import NO_HOSTS
from shared.injection.pod_template import PodDefaults
from shared.kube.client import ApiError, KubeError
from shared.kube.discovery import Discovery, UnknownKind
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube

WIDGET = GroupVersionKind("example.org", "v1", "Widget")
GADGETS = {"resources": [{"name": "gadgets", "kind": "Gadget", "namespaced": True}]}
WIDGETS = {"resources": [{"name": "widgets", "kind": "Widget", "namespaced": True}]}
NAMED = {"apiVersion": WIDGET.api_version, "kind": WIDGET.kind}
APPWRAPPER = AppWrapper(
    {
        "metadata": {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"},
        "spec": {"components": [{"template": {**NAMED, "metadata": {"name": "a"}}}]},
        "status": {"attempt": 1, "componentStatus": [{**NAMED, "name": "a"}]},
    }
)


class Watches:
    """Watches whatever is created."""

    async def ensure(self, resource: Resource) -> None:
        assert resource.gvk == WIDGET

    def assume(self, resource: Resource, written: dict[str, Any]) -> None:
        assert written["metadata"]["name"] == "a"


async def created_once_it_is(served: dict[str, Any] | KubeError) -> tuple[Creations, FakeKube]:
    """By a controller that has just heard that its version serves Gadgets alone."""
    server = FakeKube(
        answers={
            "get_path": [GADGETS, served],
            "create": [{"metadata": {"name": "a", "uid": "w1"}}],
        }
    )
    client: Any = server
    discovery = Discovery(client, FakeClock())
    with pytest.raises(UnknownKind):
        await discovery.resource_for(WIDGET)
    creations = Memory().creations
    creator = ComponentCreator(
        client,
        discovery,
        Watches(),
        creations,
        PodDefaults(),
        lambda *_: NO_HOSTS,
        ErrorAggregation(),
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    texts = component_texts(APPWRAPPER.raw)
    await creator.create_missing(APPWRAPPER, texts, now, FaultTolerance())
    return creations, server


async def test_one_that_was_defined_since_is_created() -> None:
    """Nothing fails for good because of what was remembered."""
    creations, _ = await created_once_it_is(WIDGETS)
    assert creations.known("u1", 1).created.get(0) == "w1"
    assert creations.known("u1", 1).problem is None


async def test_one_that_is_still_not_served_fails() -> None:
    creations, server = await created_once_it_is(GADGETS)
    assert [call.method for call in server.calls] == ["get_path", "get_path"]
    assert creations.known("u1", 1).problem == CreateProblem(
        fatal=True,
        message='spec.components[0]: no matches for kind "Widget" in version "example.org/v1"',
        refused=0,
    )


async def test_an_unknown_kind_is_reported_and_retried() -> None:
    away = ApiError(503, "ServiceUnavailable", "its API server is away")
    creations, _ = await created_once_it_is(away)
    problem = creations.known("u1", 1).problem
    assert problem is not None
    assert problem.message == "spec.components[0]: 503 ServiceUnavailable: its API server is away"
    assert (problem.fatal, problem.refused) == (False, None)
    assert problem.retry_at is not None
