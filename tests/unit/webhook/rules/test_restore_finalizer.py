from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, patch_of, request
from webhook.chain import is_checked

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
        ([OURS], ["a"], ["a", OURS]),
        (["a", OURS, "b"], ["c", "b"], ["c", "b", OURS]),
        pytest.param([OURS], "x", [OURS], id="malformed"),
        pytest.param([OURS], [{}, "a"], [{}, "a", OURS], id="malformed inside"),
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


def test_a_file_with_the_users_own_finalizers_changes_nothing() -> None:
    [operation] = patch_of(with_finalizers(["a"]), old=with_finalizers(["a", OURS]))
    assert operation["value"] == ["a", OURS]


def test_it_goes_once_the_object_is_being_deleted() -> None:
    old = with_finalizers([OURS])
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not is_checked(request(with_finalizers([]), old=old))
