"""A row: what an AppWrapper requests, its place, its user; and the order of the rows."""

from typing import Any

import pytest

from cli.commands.list import SORTS
from cli.listing.outline import WorkloadOutline, appwrapper_outline, by_owner, workload_outline
from cli.listing.rows import SORT_KEYS, ListContext, ListedAppWrapper, in_order, listed
from controller.phases.phase import Phase
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import NOW, UID, appwrapper, held, template, workload
from tests.support.builders.listed import made

GPU = "nvidia.com/gpu"
LABELS = {
    "kueue.x-k8s.io/queue-name": "default-queue",
    "workload.codeflare.dev/user": "alice_example.com",
}


def row(item: JsonObject, **context: Any) -> ListedAppWrapper:
    return listed(appwrapper_outline(item), ListContext(**{"gpu_resources": [GPU], **context}), NOW)


def test_gpus_are_those_of_all_pod_sets() -> None:
    item = appwrapper("Running", *held(ready=True), pods=2, gpus=8, attempt=1)
    item["spec"]["components"].append({"template": template(pods=3, gpus=1)})
    assert row(item).gpus == 19
    assert row(item, gpu_resources=["cpu"]).gpus == 20
    assert row(item, gpu_resources=()).gpus == 0


def test_the_outline_drops_the_templates() -> None:
    item = appwrapper("Running", *held(ready=True), attempt=1)
    item["metadata"]["managedFields"] = [{}]
    kept = appwrapper_outline(item).appwrapper
    assert kept.components == []
    assert "managedFields" not in kept.metadata


@pytest.mark.parametrize(
    ("annotations", "user"),
    [
        ({"workload.codeflare.dev/submitted-by": "alice@example.com"}, "alice@example.com"),
        ({}, "alice_example.com"),
    ],
)
def test_the_user_has_the_exact_name_if_it_is_known(annotations: Any, user: str) -> None:
    assert row(appwrapper("", metadata={"labels": LABELS, "annotations": annotations})).user == user


def known(name: str = "appwrapper-train-4f2d1", created: str = "") -> WorkloadOutline:
    return WorkloadOutline(name, UID, created, 5, "default-priority", "")


PLACES = {("team1", "appwrapper-train-4f2d1"): 3, ("team2", "appwrapper-train-4f2d1"): 1}


@pytest.mark.parametrize(
    ("item", "position"),
    [
        (appwrapper("Suspended"), 3),
        (appwrapper("Running", *held(ready=True), attempt=1), None),
        (appwrapper("Suspended", metadata={"namespace": "team3"}), None),
    ],
)
def test_only_a_waiting_one_has_a_position(item: JsonObject, position: int | None) -> None:
    found = row(item, workloads={UID: known()}, positions=PLACES)
    assert (found.position, found.priority, found.priority_class) == (
        position,
        5,
        "default-priority",
    )


def test_without_workload_priority_and_position_are_unknown() -> None:
    found = row(appwrapper("Suspended"), positions=PLACES)
    assert (found.position, found.priority, found.priority_class) == (None, None, None)


def test_a_workload_belongs_to_its_owner_and_the_newest_counts() -> None:
    old, new = known("old", "2026-03-01T00:00:00Z"), known("new", "2026-03-02T00:00:00Z")
    assert by_owner([new, old])[UID].name == "new"
    seen = workload_outline(workload())
    assert (seen.owner_uid, seen.priority, seen.priority_class) == (UID, 5, "default-priority")


def names(rows: list[ListedAppWrapper], key: str) -> list[str]:
    return [each.name for each in in_order(rows, key)]


def test_by_default_running_ones_are_first_and_waiting_ones_in_the_order_of_the_queue() -> None:
    rows = [
        made("done", status="Succeeded"),
        made("failed", status="Failed"),
        made("third"),
        made("second", position=2),
        made("first", position=1),
        made("runs-b", status="Running"),
        made("runs-a", status="Running"),
    ]
    expected = ["runs-a", "runs-b", "first", "second", "third", "failed", "done"]
    assert names(rows, "status") == expected


@pytest.mark.parametrize(
    ("key", "field", "values"),
    [
        ("gpus", "gpus", (8, 16, 0)),
        ("priority", "priority", (5, 10, None)),
        ("position", "position", (2, 1, None)),
        ("user", "user", ("bob", "alice", "carol")),
        ("queue", "queue", ("b", "a", "c")),
    ],
)
def test_a_column_sorts_what_matters_first(key: str, field: str, values: tuple[Any, ...]) -> None:
    second, first, third = values
    rows = [made("x", **{field: second}), made("y", **{field: first}), made("z", **{field: third})]
    assert names(rows, key) == ["y", "x", "z"]


def test_age_sorts_new_ones_first_and_equal_ones_by_name() -> None:
    rows = [made("b"), made("a"), made("old", created=NOW.replace(year=2025))]
    assert names(rows, "age") == ["a", "b", "old"]
    assert names(rows, "name") == ["a", "b", "old"]


def test_the_options_name_every_key() -> None:
    assert tuple(SORT_KEYS) == SORTS


def test_every_phase_has_its_place() -> None:
    ranks = {SORT_KEYS["status"](made("a", status=each.value))[0] for each in Phase}
    assert len(ranks) == len(Phase)
