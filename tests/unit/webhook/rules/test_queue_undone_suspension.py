"""A warning tells a user who suspends a queued AppWrapper that Kueue starts it again."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, facts, request, warnings_of
from webhook import chain
from webhook.admission_review import User
from webhook.verdicts import Allowed

QUEUE = {"kueue.x-k8s.io/queue-name": "default-queue"}
UNDONE = (
    "Kueue undoes spec.suspend: true within seconds, and all pods restart: to stop the AppWrapper, "
    "run `appwrapper hold NAME`; `appwrapper release NAME` queues it again"
)
KUEUE = User("system:serviceaccount:kueue-system:kueue-controller-manager", "")


def stored(phase: str = "Running", **spec: Any) -> dict[str, Any]:
    return appwrapper(labels=QUEUE, **spec) | {"status": {"phase": phase}}


def test_the_warning_is_short_enough_for_the_api_server() -> None:
    assert len(UNDONE) <= 256


@pytest.mark.parametrize("spec", [{}, {"suspend": False}, {"suspend": None}])
@pytest.mark.parametrize("phase", ["", "Suspended", "Resuming", "Running", "Resetting"])
def test_a_queued_appwrapper_that_its_user_suspends_gets_a_warning(
    phase: str, spec: dict[str, Any]
) -> None:
    old = stored(phase, **spec)
    assert warnings_of(appwrapper(labels=QUEUE, suspend=True), old=old) == [UNDONE]


def test_an_admin_is_warned_too() -> None:
    """Kueue undoes that as well."""
    known = replace(facts(), is_admin=True)
    sent = appwrapper(labels=QUEUE, suspend=True)
    assert warnings_of(sent, old=stored(), known=known) == [UNDONE]


def test_kueue_itself_gets_no_warning() -> None:
    sent = appwrapper(labels=QUEUE, suspend=True)
    judged = chain.validate(request(sent, old=stored(), user=KUEUE), facts())
    assert judged == Allowed(())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_ended_appwrapper_restarts_nothing_so_there_is_no_warning(phase: str) -> None:
    assert warnings_of(appwrapper(labels=QUEUE, suspend=True), old=stored(phase)) == []


@pytest.mark.parametrize("labels", [None, {}, {"kueue.x-k8s.io/queue-name": ""}])
def test_without_a_queue_it_is_really_suspended_so_there_is_no_warning(
    labels: dict[str, str] | None,
) -> None:
    assert warnings_of(appwrapper(suspend=True), old=appwrapper(labels=labels)) == []


def test_other_updates_get_no_warning() -> None:
    """Of a suspended one, of a running one, and the start."""
    for before, after in ((True, True), (False, False)):
        old = stored(suspend=before)
        assert warnings_of(appwrapper(labels=QUEUE, suspend=after), old=old) == []
    admin = replace(facts(), is_admin=True)
    old, sent = stored(suspend=True), appwrapper(labels=QUEUE, suspend=False)
    assert warnings_of(sent, old=old, known=admin) == []
