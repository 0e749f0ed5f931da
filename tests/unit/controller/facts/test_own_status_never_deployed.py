"""Which statuses show that nothing was ever deployed: then a deletion proves nothing more."""

from datetime import UTC, datetime
from typing import Any

import pytest

from controller.facts.own_status import read_status
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def false(*kinds: str) -> list[JsonObject]:
    return [{"type": kind, "status": "False", "reason": "Suspended"} for kind in kinds]


FIRST = {
    "phase": "Suspended",
    "componentStatus": [{"name": "", "kind": "", "apiVersion": "", "podSets": []}],
    "conditions": false("QuotaReserved", "ResourcesDeployed"),
}


def never_deployed(status: Any, *, deleted: bool = True) -> bool:
    metadata: JsonObject = {"namespace": "team1", "name": "a", "uid": "u"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    raw = {"metadata": metadata, "spec": {"components": []}, "status": status}
    return read_status(AppWrapper(raw), NOW).never_deployed


@pytest.mark.parametrize(
    "status", [{}, {"phase": ""}, {"phase": "Suspended"}, FIRST, {**FIRST, "attempt": 0}]
)
def test_nothing_was_deployed_before_the_first_attempt(status: JsonObject) -> None:
    assert never_deployed(status)
    assert not never_deployed(status, deleted=False), "only a deletion asks"


CREATED = {"type": "ResourcesDeployed", "status": "False", "reason": "ComponentDeleted"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"phase": "Resuming"}, id="its components are being created"),
        pytest.param({"phase": "Terminating"}, id="it is being deleted already"),
        pytest.param({"phase": "Paused"}, id="unknown phase"),
        pytest.param({"attempt": 1}, id="it was suspended after an attempt"),
        pytest.param({"componentStatus": [{"conditions": [CREATED]}]}, id="the attempt was lost"),
        pytest.param({"conditions": false("PodsReady")}, id="after an attempt of the Go operator"),
        pytest.param({"conditions": false("Unhealthy")}, id="after another such attempt"),
        pytest.param({"conditions": false("DeletingResources")}, id="something was deleted"),
        pytest.param(
            {"conditions": [{"type": "ResourcesDeployed", "status": "True"}]}, id="a condition"
        ),
    ],
)
def test_any_trace_of_a_deployment_asks_for_a_proof(changes: JsonObject) -> None:
    assert not never_deployed({**FIRST, **changes})
