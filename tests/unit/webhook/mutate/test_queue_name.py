from typing import Any

import pytest

from tests.builders.admission import appwrapper, patch_of

QUEUE = "kueue.x-k8s.io/queue-name"
PATH = "/metadata/labels/kueue.x-k8s.io~1queue-name"
# As the other rule leaves it, so that these tests see the queue name alone.
USER = {"workload.codeflare.dev/user": "alice", "workload.codeflare.dev/userid": "42"}


@pytest.mark.parametrize("labels", [USER, {**USER, QUEUE: ""}])
def test_a_queue_name_absent_or_empty_is_defaulted(labels: dict[str, str]) -> None:
    assert patch_of(appwrapper(labels=labels), default_queue_name="q") == [
        {"op": "add", "path": PATH, "value": "q"}
    ]


def test_a_queue_name_of_the_users_own_stays() -> None:
    labels = {**USER, QUEUE: "mine"}
    assert patch_of(appwrapper(labels=labels), default_queue_name="q") == []


def test_without_a_default_there_is_no_label() -> None:
    assert patch_of(appwrapper(labels=USER)) == []


@pytest.mark.parametrize("labels", [USER, {**USER, QUEUE: ""}])
def test_an_update_cannot_drop_or_empty_the_queue_name(labels: dict[str, str]) -> None:
    old = appwrapper(labels={**USER, QUEUE: "stored"})
    assert patch_of(appwrapper(labels=labels), old=old, default_queue_name="q") == [
        {"op": "add", "path": PATH, "value": "stored"}
    ]


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param({}, {}, id="none stays none, whatever the default"),
        pytest.param({QUEUE: "a"}, {QUEUE: "b"}, id="another queue is Kueue's to judge"),
        pytest.param({}, {QUEUE: "b"}, id="a queue where there was none"),
    ],
)
def test_an_update_adds_nothing(stored: dict[str, Any], sent: dict[str, Any]) -> None:
    old, new = appwrapper(labels={**USER, **stored}), appwrapper(labels={**USER, **sent})
    assert patch_of(new, old=old, default_queue_name="q") == []
