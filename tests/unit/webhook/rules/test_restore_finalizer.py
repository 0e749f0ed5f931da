from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, facts, patch_of, request
from tests.support.builders.compared_text import ComparedText
from webhook.chain import is_checked
from webhook.rules.json_patch import SetField
from webhook.rules.restore import add_finalizer, keep_finalizer
from webhook.rules.submission import Submission

OURS = "workload.codeflare.dev/finalizer"
ABSENT = object()


def with_finalizers(finalizers: object) -> dict[str, Any]:
    made = appwrapper()
    if finalizers is not ABSENT:
        made["metadata"]["finalizers"] = finalizers
    return made


def added(made: dict[str, Any]) -> list[SetField]:
    return list(add_finalizer(Submission(request(made), facts())))


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (ABSENT, [OURS]),
        (None, [OURS]),
        ([], [OURS]),
        (["a", "b"], ["a", "b", OURS]),
        pytest.param("x", [OURS], id="malformed"),
        pytest.param([{}, 1], [{}, 1, OURS], id="malformed inside"),
    ],
)
def test_a_creation_gets_the_operators_finalizer(sent: object, stored: list[Any]) -> None:
    assert added(with_finalizers(sent)) == [SetField(("metadata", "finalizers"), stored)]


@pytest.mark.parametrize("sent", [[OURS], ["a", OURS, "b"]])
def test_a_finalizer_that_is_there_is_not_added_twice(sent: list[str]) -> None:
    assert added(with_finalizers(sent)) == []


@pytest.mark.parametrize(
    ("manager", "gets_it"),
    [
        (None, True),
        ("", True),
        ("workload.codeflare.dev/appwrapper-controller", True),
        ("kueue.x-k8s.io/multikueue", False),
        ("Workload.codeflare.dev/appwrapper-controller", False),
        (["x"], False),
    ],
)
def test_an_appwrapper_of_another_controller_gets_none(manager: object, gets_it: bool) -> None:
    assert bool(added(appwrapper(managedBy=manager))) is gets_it


def test_the_finalizer_takes_one_operation_of_the_patch() -> None:
    operations = [each for each in patch_of(appwrapper()) if "finalizers" in each["path"]]
    assert operations == [{"op": "add", "path": "/metadata/finalizers", "value": [OURS]}]


@pytest.mark.parametrize(
    ("stored", "sent", "kept"),
    [
        ([OURS], ABSENT, [OURS]),
        ([OURS], None, [OURS]),
        ([OURS], [], [OURS]),
        ([OURS], ["a"], [OURS, "a"]),
        (["a", OURS, "b"], ["a", "b"], ["a", OURS, "b"]),
        (["a", OURS, "b"], ["c", "b"], [OURS, "b", "c"]),
        pytest.param([OURS], "x", [OURS], id="malformed"),
        pytest.param([OURS], [{}, "a"], [OURS, {}, "a"], id="malformed inside"),
    ],
)
def test_the_operators_finalizer_is_restored(
    stored: list[str], sent: object, kept: list[str]
) -> None:
    new, old = with_finalizers(sent), with_finalizers(stored)
    assert patch_of(new, old=old) == [{"op": "add", "path": "/metadata/finalizers", "value": kept}]


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param(ABSENT, ABSENT, id="none is added"),
        pytest.param(["a"], [], id="other ones are not ours"),
        pytest.param(ABSENT, [OURS], id="the controller adds it"),
        pytest.param([OURS], [OURS, "a"], id="another one is added"),
        pytest.param(["a", OURS], [OURS], id="another one goes"),
    ],
)
def test_otherwise_finalizers_are_as_sent(stored: object, sent: object) -> None:
    assert patch_of(with_finalizers(sent), old=with_finalizers(stored)) == []


def test_it_goes_once_the_object_is_being_deleted() -> None:
    old = with_finalizers([OURS])
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not is_checked(request(with_finalizers([]), old=old))


def test_a_thousand_finalizers_take_no_million_comparisons() -> None:
    """Anybody may write as many as an object holds; meanwhile everybody else waits."""
    before = ComparedText.times
    stored = [*(ComparedText(f"a/{index}") for index in range(1000)), OURS]
    sent = [ComparedText(f"a/{index}") for index in reversed(range(1000))]
    update = request(with_finalizers(sent), old=with_finalizers(stored))
    assert list(keep_finalizer(Submission(update, facts()))) == [
        SetField(("metadata", "finalizers"), stored)
    ]
    assert ComparedText.times - before < 20_000
