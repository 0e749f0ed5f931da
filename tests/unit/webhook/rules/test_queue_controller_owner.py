from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, errors_of, facts, request
from tests.support.builders.compared_text import ComparedText
from webhook.rules.queue import check_controller_owner
from webhook.rules.submission import Submission

QUEUED = {"kueue.x-k8s.io/queue-name": "q"}
OWNER: dict[str, Any] = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "name": "other",
    "uid": "1",
    "controller": True,
}
TEAM = replace(facts(), is_team_namespace=True)
REFUSED = [
    "metadata.ownerReferences: Forbidden: a queued AppWrapper cannot get a controller: "
    "Kueue would never evict it again"
]


def owned(*owners: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    made = appwrapper(labels=QUEUED if labels is None else labels)
    made["metadata"]["ownerReferences"] = list(owners)
    return made


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param([], [OWNER], id="a controller where there was none"),
        pytest.param([{**OWNER, "controller": False}], [OWNER], id="an owner becomes one"),
        pytest.param([OWNER], [{**OWNER, "uid": "2"}], id="another one"),
        pytest.param([OWNER], [{**OWNER, "kind": "Job"}], id="of another kind"),
        pytest.param([OWNER], [{**OWNER, "uid": {}}], id="of no uid"),
    ],
)
def test_a_queued_appwrapper_gets_no_controller(stored: list[Any], sent: list[Any]) -> None:
    assert errors_of(owned(*sent), old=owned(*stored)) == REFUSED


def test_an_owner_in_a_teams_namespace_is_refused() -> None:
    assert errors_of(owned(OWNER, labels={}), old=owned(labels={}), known=TEAM) == REFUSED


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param([OWNER], [OWNER], id="the stored one stays"),
        pytest.param([OWNER], [{**OWNER, "blockOwnerDeletion": True}], id="and may block"),
        pytest.param([OWNER], [], id="it may go"),
        pytest.param([], [{**OWNER, "controller": False}], id="an owner is no controller"),
    ],
)
def test_other_owner_references_may_change(stored: list[Any], sent: list[Any]) -> None:
    assert errors_of(owned(*sent), old=owned(*stored)) == []


def test_without_a_queue_it_belongs_to_its_user() -> None:
    assert errors_of(owned(OWNER, labels={}), old=owned(labels={})) == []


def test_a_workflow_may_create_an_appwrapper_as_its_own() -> None:
    assert errors_of(owned({**OWNER, "kind": "Workflow"})) == []


def test_a_thousand_controllers_take_no_million_comparisons() -> None:
    """No API server sends them; whoever else does must not keep it waiting."""
    before = ComparedText.times
    stored = [{**OWNER, "uid": ComparedText(index)} for index in range(1000)]
    sent = [{**OWNER, "uid": ComparedText(index)} for index in reversed(range(1000))]
    assert not list(
        check_controller_owner(Submission(request(owned(*sent), old=owned(*stored)), facts()))
    )
    assert ComparedText.times - before < 20_000
