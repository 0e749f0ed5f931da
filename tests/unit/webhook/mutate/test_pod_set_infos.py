import copy
from typing import Any

import pytest

from tests.builders.admission import POD, SERVICE, appwrapper, component, facts, patch_of, request
from webhook import chain
from webhook.admission_review import User
from webhook.verdicts import Allowed

INFOS = [{"nodeSelector": {"gpu": "a"}}]
FILE = appwrapper(component(SERVICE), component(POD))
RUNNING = appwrapper(component(SERVICE), component(POD, podSetInfos=INFOS))
KUEUE = User("system:serviceaccount:kueue-system:kueue-controller-manager", "1")


@pytest.mark.parametrize("sent", [{}, {"podSetInfos": None}, {"podSetInfos": []}])
def test_applying_the_file_again_keeps_them(sent: dict[str, Any]) -> None:
    again = copy.deepcopy(FILE)
    again["spec"]["components"][1].update(sent)
    assert patch_of(again, old=RUNNING) == [
        {"op": "add", "path": "/spec/components/1/podSetInfos", "value": INFOS}
    ]


def test_whoever_suspends_clears_them() -> None:
    suspended = {**FILE, "spec": {**FILE["spec"], "suspend": True}}
    assert patch_of(suspended, old=RUNNING) == []


def test_kueue_does_as_it_likes() -> None:
    judged = request(copy.deepcopy(FILE), old=RUNNING, user=KUEUE)
    assert chain.mutate(judged, facts()) == Allowed()


def test_nothing_is_added_where_nothing_was() -> None:
    assert patch_of(RUNNING, old=FILE) == []
    assert patch_of(FILE, old=FILE) == []


def test_other_ones_are_not_overwritten() -> None:
    other = appwrapper(component(SERVICE), component(POD, podSetInfos=[{}]))
    assert patch_of(other, old=RUNNING) == []


@pytest.mark.parametrize("components", [None, "x", [], [component(POD)], [component(SERVICE), "x"]])
def test_components_that_validation_will_refuse_are_left_alone(components: object) -> None:
    new: dict[str, Any] = {**FILE, "spec": {"components": components}}
    assert patch_of(new, old=RUNNING) == []
