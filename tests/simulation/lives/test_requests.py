"""The requests of lives without trouble. Each costs the API server about 3 ms of CPU."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.kube.requests import Request
from tests.simulation.api.client import SimulatedClient
from tests.simulation.lives.lived import live
from tests.simulation.workloads import config_map, job

SUBMITTED, OVER = 1.0, 20.0  # seconds
STATUS = "PUT /apis/workload.codeflare.dev/v1beta2/namespaces/team1/appwrappers/a/status"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the controller's requests, without those that fill its caches and its discovery."""
    found: list[str] = []
    exchange = SimulatedClient._exchange_once

    async def recorded(self: Any, request: Request, act: Callable[[], Any], place: str) -> Any:
        path = request.target.partition("?")[0]
        if SUBMITTED < self._loop.time() < OVER and "/namespaces/" in path:
            found.append(f"{request.method} {path}")
        return await exchange(self, request, act, place)

    monkeypatch.setattr(SimulatedClient, "_exchange_once", recorded)
    return found


def test_one_that_kueue_admits_at_once_costs_five_requests(sent: list[str]) -> None:
    live(job("j"))
    assert sent == [
        STATUS,  # Resuming
        "POST /apis/batch/v1/namespaces/team1/jobs",
        STATUS,  # Running and PodsReady
        "GET /api/v1/namespaces/team1/pods",
        STATUS,  # Succeeded
    ]


def test_each_further_component_costs_one_request(sent: list[str]) -> None:
    live(config_map("c"), job("j"))
    assert len(sent) == 6
