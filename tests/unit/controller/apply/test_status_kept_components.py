"""What status says of kept components through resets, and of the others beside them."""

from datetime import UTC, datetime
from typing import Any

from controller.apply.status import status_after
from controller.phases.actions import (
    PlanDeployment,
    RecordDeployment,
    RecordRefusal,
    RecordRemoval,
)
from controller.phases.snapshot import Timers
from shared.api.appwrapper import AppWrapper
from shared.injection.component import generated_name

NOW = datetime(2026, 1, 1, 10, 0, 0, tzinfo=UTC)
KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
GENERATED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "data-"}}
COMPONENTS = [{"template": GENERATED, "annotations": KEEP}, {"template": GENERATED}]
FIRST = {"phase": "Suspended", "componentStatus": []}


def after(status: dict[str, Any], action: Any) -> dict[str, Any]:
    metadata = {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}
    raw = {"metadata": metadata, "spec": {"components": COMPONENTS}, "status": status}
    return status_after(AppWrapper(raw), Timers(), (action,), NOW)


def names(status: dict[str, Any]) -> list[str]:
    return [each["name"] for each in status["componentStatus"]]


def deployed(status: dict[str, Any]) -> list[tuple[str, str]]:
    """Status and reason of each component's condition."""
    found = [each["conditions"] for each in status["componentStatus"]]
    return [(only["status"], only["reason"]) for (only,) in found]


def test_a_kept_component_stays_deployed_under_its_name() -> None:
    first = after(FIRST, PlanDeployment())
    assert deployed(first) == [("Unknown", "ComponentCreationInitiated")] * 2
    made = after(first, RecordDeployment())
    spared = after(made, RecordRemoval(keep=True))
    assert deployed(spared) == [
        ("True", "ComponentCreatedSuccessfully"),
        ("False", "ComponentDeleted"),
    ]
    again = after(spared, PlanDeployment())
    assert deployed(again) == [
        ("True", "ComponentCreationInitiated"),
        ("Unknown", "ComponentCreationInitiated"),
    ]
    assert names(first) == [generated_name("data-", "u1", 1, index) for index in (0, 1)]
    assert names(again) == [names(first)[0], generated_name("data-", "u1", 2, 1)]


def test_when_everything_goes_it_goes_as_well() -> None:
    made = after(after(FIRST, PlanDeployment()), RecordDeployment())
    assert deployed(after(made, RecordRemoval())) == [("False", "ComponentDeleted")] * 2


def test_it_is_there_though_a_component_before_it_was_refused() -> None:
    entry = {"name": "a", "conditions": [{"type": "ResourcesDeployed", "status": "True"}]}
    other = {"name": "b", "conditions": [{"type": "ResourcesDeployed", "status": "Unknown"}]}
    status = {"componentStatus": [other, entry, other]}
    marked = after(status, RecordRefusal(0, "403"))["componentStatus"]
    assert [each["conditions"][0]["status"] for each in marked] == ["False", "True", "False"]


def test_it_is_not_there_once_it_was_refused_itself() -> None:
    entry = {"name": "a", "conditions": [{"type": "ResourcesDeployed", "status": "True"}]}
    marked = after({"componentStatus": [entry]}, RecordRefusal(0, "403"))["componentStatus"]
    assert marked[0]["conditions"][0]["status"] == "False"
