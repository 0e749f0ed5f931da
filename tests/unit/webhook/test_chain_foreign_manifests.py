"""Nothing that others' tools write is refused, through the whole chain, in a team's namespace.

Where a rule becomes stricter and one of these fails, the rule is too strict.
"""

import copy

import pytest

from shared.api.objects import JsonObject
from tests.support.builders.foreign_manifests import copies_of, foreign_manifests, is_wrapped
from tests.support.whole_chain import OVERLAYS, admitted, is_for

FOREIGN = foreign_manifests()


def manifests(*, wrapped: bool) -> list[object]:
    return [
        pytest.param(made, overlay, id=f"{title} ({overlay})")
        for overlay in OVERLAYS
        for title, made in FOREIGN.items()
        if is_wrapped(made) is wrapped and is_for(made, overlay)
    ]


@pytest.mark.parametrize(("made", "overlay"), manifests(wrapped=True))
def test_an_appwrapper_is_admitted(made: JsonObject, overlay: str) -> None:
    stored = admitted(copy.deepcopy(made), overlay)
    assert stored["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default-queue"


@pytest.mark.parametrize(("made", "overlay"), manifests(wrapped=True))
def test_the_same_file_again_changes_nothing(made: JsonObject, overlay: str) -> None:
    stored = admitted(copy.deepcopy(made), overlay)
    assert admitted(copy.deepcopy(made), overlay, old=copy.deepcopy(stored)) == stored


@pytest.mark.parametrize(("made", "overlay"), manifests(wrapped=True))
def test_a_copy_of_what_is_stored_is_admitted(made: JsonObject, overlay: str) -> None:
    stored = admitted(copy.deepcopy(made), overlay)
    for copied in copies_of(stored).values():
        admitted(copied, overlay)


@pytest.mark.parametrize(("made", "overlay"), manifests(wrapped=False))
def test_manifests_created_directly_are_allowed(made: JsonObject, overlay: str) -> None:
    admitted(copy.deepcopy(made), overlay)
