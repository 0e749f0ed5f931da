from typing import Any

import pytest

from controller.gather.owned_objects import MOST_NODES, silence_of, silent_nodes
from shared.kube.client import Forbidden, NotFound, Unreachable
from tests.support.fakes.fake_kube import FakeKube


def taint(key: str, **fields: str) -> dict[str, Any]:
    return {"spec": {"taints": [{"key": "other"}, {"key": f"node.kubernetes.io/{key}", **fields}]}}


def unreachable(*times: str) -> dict[str, Any]:
    """The taint once for each effect."""
    taints = [{"key": "node.kubernetes.io/unreachable", "timeAdded": each} for each in times]
    return {"spec": {"taints": taints}}


def ready(status: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "then"}
    return {"spec": {}, "status": {"conditions": [{"type": "DiskPressure"}, condition]}}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (taint("unreachable", timeAdded="then"), "does not answer since then"),
        (taint("unreachable"), "does not answer"),
        (taint("not-ready", timeAdded="then"), "is not ready since then"),
        (unreachable("00:00:02Z", "00:00:01Z"), "does not answer since 00:00:01Z"),
        (unreachable("00:00:01Z", "00:00:02Z"), "does not answer since 00:00:01Z"),
        (taint("unschedulable"), ""),
        (ready("Unknown"), "does not answer since then"),
        (ready("False"), "is not ready since then"),
        (ready("True"), ""),
        ({}, ""),
    ],
)
def test_a_node_speaks_or_not(node: dict[str, Any], expected: str) -> None:
    assert silence_of(node) == expected


async def asked(names: list[str], *answers: Any) -> tuple[Any, FakeKube]:
    kube = FakeKube(answers={"get": list(answers)})
    client: Any = kube
    return await silent_nodes(client, names), kube


async def test_each_node_is_read_once_and_only_silent_nodes_are_reported() -> None:
    states, kube = await asked(
        ["b", "a", "", "b", "c", "d"],
        NotFound(404, "NotFound", "no"),
        ready("Unknown"),
        Forbidden(403, "Forbidden", "no"),
        ready("True"),
    )
    assert states == {
        "a": "no longer exists",
        "b": "does not answer since then",
        "c": "may not be read",
    }
    assert [call.args[2] for call in kube.called("get")] == ["a", "b", "c", "d"]


async def test_no_more_nodes_than_a_person_would_read_of() -> None:
    names = [f"n{i:03}" for i in range(100)]
    states, _ = await asked(names, *[ready("False")] * MOST_NODES)
    assert len(states) == MOST_NODES


async def test_an_api_server_that_is_away_is_not_a_node_that_is_gone() -> None:
    with pytest.raises(Unreachable):
        await asked(["a"], Unreachable("timed out"))
