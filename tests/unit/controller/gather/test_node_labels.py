"""The labels of nodes that pods are to leave are read before they decide."""

from typing import Any

import pytest

from controller.facts.nodes import Tag
from controller.gather.node_labels import confirmed, removed_nodes, still_silent
from shared.api.objects import JsonObject
from shared.kube.client import NotFound, Unreachable
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.fakes.fake_kube import FakeKube
from tests.support.moments import NOW

EVICT = f"{HEALTH}=EVICT"
LABELLED = Tag(EVICT, NOW)
LATCHED = Tag(EVICT, NOW, gone=NOW)
GONE = NotFound(404, "NotFound", "no such node")


def node(health: str = "") -> JsonObject:
    return {"metadata": {"name": "n1", "labels": {HEALTH: health} if health else {}}}


@pytest.mark.parametrize(
    ("tag", "answer", "holds"),
    [
        pytest.param(LABELLED, node("EVICT"), True, id="the label is there"),
        pytest.param(LABELLED, node("PASS"), False, id="it has another value"),
        pytest.param(LABELLED, node(), False, id="it is gone"),
        pytest.param(LABELLED, GONE, False, id="the node is gone"),
        pytest.param(LATCHED, node(), True, id="it is gone, and the node is latched"),
    ],
)
async def test_a_tag_holds_while_its_label_is_there_or_its_node_is_latched(
    tag: Tag, answer: Any, holds: bool
) -> None:
    kube: Any = FakeKube(answers={"get": [answer]})
    tags = {"n1": {GPU: tag}, "n2": {GPU: LABELLED}}
    found = await confirmed(kube, tags, ["n1", "n1", "healthy", ""])
    assert found == ({"n1": {GPU: tag}} if holds else {})
    assert [call.method for call in kube.calls] == ["get"]


async def test_a_failed_read_raises() -> None:
    kube: Any = FakeKube(answers={"get": [Unreachable("connection refused")]})
    with pytest.raises(Unreachable, match="connection refused"):
        await confirmed(kube, {"n1": {GPU: LABELLED}}, ["n1"])


async def test_tags_that_the_watch_removes_during_another_read_are_confirmed_too() -> None:
    tags = {name: {GPU: LABELLED} for name in ("n1", "n2")}

    class Client:
        async def get(self, *_: object, **__: object) -> JsonObject:
            tags.clear()
            return node("EVICT")

    client: Any = Client()
    assert await confirmed(client, tags, ["n1", "n2"]) == {
        "n1": {GPU: LABELLED},
        "n2": {GPU: LABELLED},
    }


SILENT = {"n1": NOW, "n2": NOW}


def answering(status: str) -> JsonObject:
    ready = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"metadata": {"name": "n1"}, "status": {"conditions": [ready]}}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (answering("Unknown"), ({"n1": NOW}, frozenset())),
        (answering("True"), ({}, frozenset())),
        (answering("False"), ({}, frozenset())),
        (GONE, ({"n1": NOW}, frozenset({"n1"}))),
    ],
)
async def test_a_node_is_silent_while_its_condition_is_unknown_or_it_is_removed(
    answer: Any, found: Any
) -> None:
    kube: Any = FakeKube(answers={"get": [answer]})
    assert await still_silent(kube, SILENT, ["n1", "n1", "other", ""]) == found


async def test_a_failed_read_of_a_silent_node_raises() -> None:
    kube: Any = FakeKube(answers={"get": [Unreachable("connection refused")]})
    with pytest.raises(Unreachable, match="connection refused"):
        await still_silent(kube, SILENT, ["n1"])


async def test_only_a_live_read_proves_that_a_node_is_removed() -> None:
    kube: Any = FakeKube(answers={"get": [node(), GONE]})
    assert await removed_nodes(kube, {"n2", "n1"}) == {"n2"}
    kube = FakeKube(answers={"get": [Unreachable("connection refused")]})
    with pytest.raises(Unreachable, match="connection refused"):
        await removed_nodes(kube, ["n1"])
