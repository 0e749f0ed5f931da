"""Both halves of the webhook at once say what the webhook itself says."""

import copy

import pytest

from shared.api.objects import JsonObject
from tests.support.builders.foreign_manifests import foreign_manifests
from tests.support.whole_chain import facts_of, judged
from webhook.admission_review import User
from webhook.creation import judge_creation
from webhook.verdicts import Allowed, Denied

FOREIGN = foreign_manifests()


def with_a_typo(made: JsonObject) -> JsonObject:
    wrong = copy.deepcopy(made)
    wrong["spec"] = {**wrong.get("spec", {}), "suspend": "often"}
    wrong["metadata"]["annotations"] = {"workload.codeflare.dev.appwrapper/retryLimit": "many"}
    return wrong


@pytest.mark.parametrize("title", FOREIGN)
@pytest.mark.parametrize("change", [copy.deepcopy, with_a_typo])
def test_the_creation_is_checked_as_by_the_webhook(title: str, change: object) -> None:
    assert callable(change)
    made = change(FOREIGN[title])
    stored, verdict = judged(made, "default")
    assert isinstance(verdict, Allowed | Denied)
    found = judge_creation(made, "team1", User("alice", "42"), facts_of("default"))
    assert found.stored == stored
    assert found.denied == (verdict if isinstance(verdict, Denied) else None)
    assert {*verdict.warnings} <= {*found.warnings}
