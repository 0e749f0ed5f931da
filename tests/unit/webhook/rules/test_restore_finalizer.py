from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, facts, patch_of, request
from tests.support.builders.compared_text import ComparedText
from webhook.chain import is_checked
from webhook.rules.json_patch import SetField
from webhook.rules.restore import keep_finalizer
from webhook.rules.submission import Submission

OURS = "workload.codeflare.dev/finalizer"
ABSENT = object()


def with_finalizers(finalizers: object) -> dict[str, Any]:
    made = appwrapper()
    if finalizers is not ABSENT:
        made["metadata"]["finalizers"] = finalizers
    return made


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
