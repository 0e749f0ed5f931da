from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, facts, patch_of
from webhook.rules.submission import Facts

QUEUE = "kueue.x-k8s.io/queue-name"
PATH = "/metadata/labels/kueue.x-k8s.io~1queue-name"
# As the other rule leaves it, so that these tests see the queue name alone.
USER = {"workload.codeflare.dev/user": "alice", "workload.codeflare.dev/userid": "42"}
ANYWHERE = facts(default_queue_name="q")
TEAM = replace(ANYWHERE, is_team_namespace=True)


@pytest.mark.parametrize("known", [ANYWHERE, TEAM, replace(TEAM, is_admin=True)])
@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize("labels", [USER, {**USER, QUEUE: ""}])
def test_the_queue_name_cannot_be_dropped_or_emptied(
    labels: dict[str, str], suspend: bool, known: Facts
) -> None:
    old = appwrapper(labels={**USER, QUEUE: "stored"}, suspend=suspend)
    assert patch_of(appwrapper(labels=labels, suspend=suspend), old=old, known=known) == [
        {"op": "add", "path": PATH, "value": "stored"}
    ]


@pytest.mark.parametrize("known", [ANYWHERE, TEAM])
@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param({}, {}, id="none stays none, whatever the default"),
        pytest.param({QUEUE: ""}, {QUEUE: ""}, id="an empty one stays empty"),
        pytest.param({QUEUE: "a"}, {QUEUE: "b"}, id="another queue is Kueue's to judge"),
        pytest.param({}, {QUEUE: "b"}, id="a queue where there was none"),
    ],
)
def test_an_update_adds_nothing(stored: dict[str, Any], sent: dict[str, Any], known: Facts) -> None:
    old, new = appwrapper(labels={**USER, **stored}), appwrapper(labels={**USER, **sent})
    assert patch_of(new, old=old, known=known) == []
