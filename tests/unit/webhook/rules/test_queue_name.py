import pytest

from tests.support.builders.admission import appwrapper, patch_of

QUEUE = "kueue.x-k8s.io/queue-name"
PATH = "/metadata/labels/kueue.x-k8s.io~1queue-name"
LABELS = "/metadata/labels"
# As the other rule leaves it, so that these tests see the queue name alone.
USER = {"workload.codeflare.dev/user": "alice", "workload.codeflare.dev/userid": "42"}


@pytest.mark.parametrize("labels", [USER, {**USER, QUEUE: ""}])
def test_a_queue_name_absent_or_empty_is_defaulted(labels: dict[str, str]) -> None:
    assert patch_of(appwrapper(labels=labels), under=LABELS, default_queue_name="q") == [
        {"op": "add", "path": PATH, "value": "q"}
    ]


def test_a_queue_name_of_the_users_own_stays() -> None:
    labels = {**USER, QUEUE: "mine"}
    assert patch_of(appwrapper(labels=labels), under=LABELS, default_queue_name="q") == []


def test_without_a_default_there_is_no_label() -> None:
    assert patch_of(appwrapper(labels=USER), under=LABELS) == []
