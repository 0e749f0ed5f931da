"""The differential test's own parts, with two simulated API servers."""

from collections import Counter

import pytest

from shared.api.objects import JsonObject, Resource
from tests.simulation.api.store import Store
from tests.simulation.differential.run import differences
from tests.simulation.differential.script import script
from tests.simulation.differential.simulated import simulated

SCRIPT = script(1)


def test_a_script_is_the_same_for_the_same_seed_and_has_every_kind_of_step() -> None:
    assert script(1) == SCRIPT != script(2)
    assert len(Counter(type(step).__name__ for step in SCRIPT)) == 8


def test_a_script_meets_objects_and_every_error() -> None:
    counted = Counter(each.get("status") for each in simulated(SCRIPT).answers)
    assert counted[200] > len(SCRIPT) / 3
    assert {404, 409, 422} < set(counted)


def test_two_servers_with_other_uids_and_versions_agree() -> None:
    one = simulated(SCRIPT)
    assert sum(map(len, one.streams)) > len(SCRIPT)
    assert differences(SCRIPT, one, simulated(SCRIPT, earlier_objects=5)) == []


def test_a_server_that_writes_without_a_change_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, correct = simulated(SCRIPT), Store._write

    def write(self: Store, resource: Resource, new: JsonObject, old: JsonObject) -> JsonObject:
        if new == old:
            return self._commit(resource, "MODIFIED", new, old)
        return correct(self, resource, new, old)

    monkeypatch.setattr(Store, "_write", write)
    found = differences(SCRIPT, expected, simulated(SCRIPT))
    assert any(line.startswith("step") for line in found)
    assert any(line.startswith("stream") for line in found)
