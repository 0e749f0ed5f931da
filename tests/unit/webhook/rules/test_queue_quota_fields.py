import copy
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import POD, SERVICE, appwrapper, component, facts, request
from webhook import chain
from webhook.admission_review import User
from webhook.rules.queue import needs_admin_answer
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Patched

QUEUED = {"kueue.x-k8s.io/queue-name": "q"}
INFOS = [{"nodeSelector": {"gpu": "a"}}]
FORGED = [{"nodeSelector": {"gpu": "b"}}]
NOT_STARTED = (
    "spec.suspend is reset to true: only Kueue starts a queued AppWrapper, "
    "or an admin who writes suspend: false"
)
NOT_WRITTEN = (
    "spec.components[1].podSetInfos is reset: only Kueue starts a queued AppWrapper and writes this"
)
USER = User("alice", "42")
KUEUE = User("system:serviceaccount:kueue-system:kueue-controller-manager", "1")
NOWHERE = facts()
TEAM = replace(NOWHERE, is_team_namespace=True)
ABSENT = object()


def state(suspend: object, infos: object, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """An AppWrapper of a Service and a Pod; ABSENT leaves a field out."""
    made = appwrapper(component(SERVICE), component(POD), labels=QUEUED if labels is None else {})
    if suspend is not ABSENT:
        made["spec"]["suspend"] = suspend
    if infos is not ABSENT:
        made["spec"]["components"][1]["podSetInfos"] = infos
    return made


def updated(
    old: dict[str, Any], new: dict[str, Any], known: Facts = NOWHERE, user: User = USER
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What will be stored, and the warnings."""
    verdict = chain.mutate(request(copy.deepcopy(new), old=old, user=user), known)
    assert isinstance(verdict, Allowed | Patched)
    patch = verdict.patch if isinstance(verdict, Patched) else []
    return jsonpatch.apply_patch(new, patch), verdict.warnings


WAITING = state(True, ABSENT)
STALE = state(True, INFOS)  # Kueue leaves them where it finds no Workload
RUNNING = state(ABSENT, INFOS)

# What is stored, what a user sends, what they are told; it always stays as it was.
PUT_BACK = [
    pytest.param(WAITING, state(False, ABSENT), (NOT_STARTED,), id="unsuspended"),
    pytest.param(WAITING, state(ABSENT, ABSENT), (NOT_STARTED,), id="replaced by its file"),
    pytest.param(WAITING, state(None, ABSENT), (NOT_STARTED,), id="suspend is null"),
    pytest.param(WAITING, state(True, FORGED), (NOT_WRITTEN,), id="forged while suspended"),
    pytest.param(WAITING, state(ABSENT, FORGED), (NOT_STARTED, NOT_WRITTEN), id="as Kueue does it"),
    pytest.param(STALE, state(True, FORGED), (NOT_WRITTEN,), id="stale ones forged"),
    pytest.param(STALE, state(False, INFOS), (NOT_STARTED,), id="stale ones used"),
    pytest.param(state(True, []), state(True, FORGED), (NOT_WRITTEN,), id="forged where none were"),
    pytest.param(RUNNING, state(ABSENT, FORGED), (NOT_WRITTEN,), id="forged while it runs"),
    pytest.param(RUNNING, state(ABSENT, [*INFOS, {}]), (NOT_WRITTEN,), id="one more"),
    pytest.param(RUNNING, state(ABSENT, ABSENT), (), id="dropped while it runs"),
]


@pytest.mark.parametrize(("old", "new", "warnings"), PUT_BACK)
def test_a_user_neither_starts_nor_forges_a_queued_appwrapper(
    old: dict[str, Any], new: dict[str, Any], warnings: tuple[str, ...]
) -> None:
    assert updated(old, new) == (old, warnings)


@pytest.mark.parametrize(("old", "new", "warnings"), PUT_BACK)
def test_in_a_teams_namespace_not_even_one_of_no_queue(
    old: dict[str, Any], new: dict[str, Any], warnings: tuple[str, ...]
) -> None:
    old, new = copy.deepcopy(old), copy.deepcopy(new)
    old["metadata"]["labels"] = new["metadata"]["labels"] = {}
    assert updated(old, new, TEAM) == (old, warnings)


def test_a_new_queue_does_not_help() -> None:
    new = state(False, FORGED)
    new["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "other"}
    assert updated(WAITING, new)[0]["spec"] == WAITING["spec"]


@pytest.mark.parametrize("labels", [{}, {"kueue.x-k8s.io/queue-name": ""}])
def test_leaving_the_queue_does_not_help(labels: dict[str, str]) -> None:
    new = state(False, FORGED)
    new["metadata"]["labels"] = labels
    assert updated(WAITING, new)[0] == WAITING


def test_forged_pod_set_infos_of_a_suspension_are_restored() -> None:
    after, warnings = updated(RUNNING, state(True, FORGED))
    assert (after, warnings) == (state(True, INFOS), (NOT_WRITTEN,))


@pytest.mark.parametrize("infos", [ABSENT, None, [], INFOS])
def test_a_suspension_may_clear_pod_set_infos(infos: object) -> None:
    new = state(True, infos)
    assert updated(RUNNING, new) == (new, ())


@pytest.mark.parametrize("infos", [ABSENT, [], None])
def test_stale_ones_may_be_cleared_while_suspended(infos: object) -> None:
    new = state(True, infos)
    assert updated(STALE, new) == (new, ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WAITING, state(ABSENT, INFOS)),
        (WAITING, state(False, ABSENT)),
        (RUNNING, state(True, ABSENT)),
        (RUNNING, state(ABSENT, FORGED)),
        (RUNNING, state(ABSENT, ABSENT)),
    ],
)
@pytest.mark.parametrize("known", [NOWHERE, TEAM])
def test_kueue_does_as_it_likes(old: dict[str, Any], new: dict[str, Any], known: Facts) -> None:
    assert updated(old, new, known, KUEUE) == (new, ())
    assert not needs_admin_answer(request(new, old=old, user=KUEUE), known.config)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WAITING, state(False, ABSENT)),
        (WAITING, state(False, FORGED)),
        (WAITING, state(True, FORGED)),
        (RUNNING, state(ABSENT, FORGED)),
    ],
)
def test_changes_of_an_admin_are_kept(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert updated(old, new, replace(TEAM, is_admin=True)) == (new, ())
    assert needs_admin_answer(request(new, old=old), TEAM.config)


@pytest.mark.parametrize(
    ("old", "new", "warnings"),
    [
        (WAITING, state(ABSENT, ABSENT), (NOT_STARTED,)),
        (RUNNING, state(ABSENT, ABSENT), ()),
        (RUNNING, state(ABSENT, []), ()),
    ],
)
def test_fields_that_an_admin_omits_are_restored(
    old: dict[str, Any], new: dict[str, Any], warnings: tuple[str, ...]
) -> None:
    """`kubectl replace` of a file starts nothing and disturbs nothing, whoever types it."""
    assert updated(old, new, replace(TEAM, is_admin=True)) == (old, warnings)


@pytest.mark.parametrize("new", [state(False, FORGED, {}), state(ABSENT, ABSENT, {})])
def test_without_a_queue_it_belongs_to_its_user(new: dict[str, Any]) -> None:
    """Standalone: nobody else would start it."""
    assert updated(state(True, ABSENT, {}), new) == (new, ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(RUNNING, RUNNING, id="nothing changes"),
        pytest.param(RUNNING, state(ABSENT, ABSENT), id="its file is applied"),
        pytest.param(WAITING, state(ABSENT, ABSENT), id="its file is replaced"),
        pytest.param(RUNNING, state(True, ABSENT), id="it is suspended"),
        pytest.param(STALE, WAITING, id="stale ones are cleared"),
        pytest.param(WAITING, appwrapper(suspend=True), id="another number of components"),
    ],
)
def test_admin_rights_are_reviewed_only_if_needed(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert not needs_admin_answer(request(new, old=old), NOWHERE.config)


def test_a_creation_needs_no_answer_about_admins() -> None:
    assert not needs_admin_answer(request(RUNNING), NOWHERE.config)


def test_other_quota_managers_are_configured() -> None:
    known = facts(exemptions={"quota_managers": ("alice",)})
    new = state(False, FORGED)
    assert updated(WAITING, new, known) == (new, ())
