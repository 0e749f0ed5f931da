from typing import Any

import pytest

from cli.reaching import port_forward, shell
from tests.support.builders.explained.objects import RUNS
from tests.support.builders.explained.objects import pod as built_pod
from tests.support.fakes.log_session import connected_to, train
from tests.support.fakes.reached_pods import ReachedPods


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two pods of `train` that run; the commands connect to them."""
    built = [built_pod(index, containers=[RUNS]) for index in (0, 1)]
    client = ReachedPods({"appwrappers": [train()], "pods": built})
    for each in (shell, port_forward):
        monkeypatch.setattr(each, "connected", connected_to(client))
    return client
