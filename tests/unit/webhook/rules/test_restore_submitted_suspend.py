import copy
from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import (
    appwrapper,
    component,
    facts,
    patch_of,
    request,
    warnings_of,
)
from webhook import chain
from webhook.verdicts import Patched

MARK = "workload.codeflare.dev.appwrapper/submitted-suspended"
PUT_BACK = (
    "spec.suspend stays false: it was already true in the file when the AppWrapper was created; "
    "to suspend the AppWrapper: kubectl patch appwrapper NAME --type=merge -p "
    '\'{"spec":{"suspend":true}}\''
)
STAYS = (
    "spec.suspend stays false: it was already true in the file when the AppWrapper was created; "
    "to stop the AppWrapper, run `appwrapper hold NAME`; `appwrapper release NAME` queues it again"
)
SUSPENDED = appwrapper(suspend=True)
QUEUE = "kueue.x-k8s.io/queue-name"


def created(file: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(file), patch_of(file))
    return made


def started(file: dict[str, Any]) -> dict[str, Any]:
    """As Kueue starts it."""
    made = created(file)
    made["spec"].pop("suspend", None)
    made["spec"]["components"][0]["podSetInfos"] = [{"nodeSelector": {"a": "b"}}]
    return made


def after(sent: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(sent), patch_of(sent, old=old))
    return made


@pytest.mark.parametrize("spec", [{}, {"suspend": False}, {"suspend": None}])
def test_only_what_is_submitted_suspended_is_marked(spec: dict[str, Any]) -> None:
    assert created(SUSPENDED)["metadata"]["annotations"][MARK] == "true"
    assert MARK not in created(appwrapper(**spec))["metadata"]["annotations"]
    assert warnings_of(created(SUSPENDED)) == []


def test_the_same_file_again_suspends_nothing_and_warns() -> None:
    old = started(SUSPENDED)
    assert after(SUSPENDED, old) == old
    assert warnings_of(SUSPENDED, old=old) == [PUT_BACK]


@pytest.mark.parametrize("labels", [{QUEUE: "a"}, {}])
def test_the_file_of_a_queued_one_again_suspends_nothing_and_names_what_stops_it(
    labels: dict[str, str],
) -> None:
    """Also if the file names no queue: that label is put back."""
    old = started(appwrapper(suspend=True, labels={QUEUE: "a"}))
    sent = appwrapper(suspend=True, labels=labels)
    mutated = chain.mutate(request(sent, old=old), facts())
    assert isinstance(mutated, Patched)
    assert mutated.warnings == (STAYS,)
    assert warnings_of(after(sent, old), old=old) == []


def test_a_change_of_the_stored_object_suspends_it() -> None:
    """As `kubectl patch` does: the components come as they are stored."""
    old = started(SUSPENDED)
    sent = copy.deepcopy(old)
    sent["spec"]["suspend"] = True
    del sent["spec"]["components"][0]["podSetInfos"]
    assert after(sent, old) == sent
    assert warnings_of(sent, old=old) == []


def test_a_file_that_is_stored_as_it_is_suspends() -> None:
    """Nothing shows whether it is the file again or a patch."""
    file = created(SUSPENDED)
    del file["metadata"]["annotations"]
    del file["spec"]["components"][0]["annotations"]
    old = started(file)
    assert after(file, old)["spec"]["suspend"] is True
    assert warnings_of(file, old=old) == []


def test_a_file_with_a_new_suspend_field_suspends() -> None:
    old = started(appwrapper())
    assert after(SUSPENDED, old)["spec"]["suspend"] is True
    assert warnings_of(SUSPENDED, old=old) == []


@pytest.mark.parametrize("index", [0, 1])
def test_every_component_must_be_the_files(index: int) -> None:
    file = appwrapper(component(), component(), suspend=True)
    other = copy.deepcopy(file)
    other["spec"]["components"][index]["template"]["metadata"]["name"] = "other"
    assert after(other, started(file))["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("labels", "suspends"),
    [({QUEUE: "b"}, True), ({QUEUE: "a"}, False), ({QUEUE: ""}, False), ({}, False)],
)
def test_its_file_with_another_queue_suspends(labels: dict[str, str], suspends: bool) -> None:
    """Kueue lets only what is suspended go to another queue."""
    old = started(appwrapper(suspend=True, labels={QUEUE: "a"}))
    sent = appwrapper(suspend=True, labels=labels)
    assert after(sent, old)["spec"].get("suspend", False) is suspends


def test_an_object_without_digest_is_suspended_by_any_file() -> None:
    old = started(SUSPENDED)
    del old["spec"]["components"][0]["annotations"]
    assert after(SUSPENDED, old)["spec"]["suspend"] is True


def test_the_mark_cannot_be_taken_off_and_none_is_added() -> None:
    old = created(SUSPENDED)
    sent = copy.deepcopy(old)
    del sent["metadata"]["annotations"][MARK]
    assert after(sent, old) == old
    assert patch_of(old, old=sent, under="/metadata/annotations") == []


@pytest.mark.parametrize("stored", [{}, {"suspend": False}, {"suspend": None}])
@pytest.mark.parametrize("sent", [{}, {"suspend": False}, {"suspend": None}])
def test_not_suspended_is_spelt_as_stored(stored: dict[str, Any], sent: dict[str, Any]) -> None:
    assert after(appwrapper(**sent), appwrapper(**stored)) == appwrapper(**stored)
