from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, errors_of, facts

QUEUE = "kueue.x-k8s.io/queue-name"
TEAM = replace(facts(), is_team_namespace=True)
REQUIRED = (
    f"metadata.labels[{QUEUE}]: Required value: add the label {QUEUE}: LOCALQUEUE "
    "(`kubectl get localqueues -n team1` lists them); this cluster has no default queue"
)


@pytest.mark.parametrize("labels", [None, {}, {QUEUE: ""}, {QUEUE: None}, {"other": "q"}])
def test_in_a_teams_namespace_a_queue_name_is_required(labels: Any) -> None:
    assert errors_of(appwrapper(labels=labels), known=TEAM) == [REQUIRED]
    assert errors_of(appwrapper(labels=labels)) == []  # elsewhere it is Kueue's to decide


def test_any_named_queue_is_accepted() -> None:
    assert errors_of(appwrapper(labels={QUEUE: "q"}), known=TEAM) == []
