"""Reports use the API server's time, whatever the clock of the user's machine shows."""

from datetime import UTC, datetime, timedelta

import pytest

from cli.cluster.connection import Cluster
from shared.kube.discovery import Discovery
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.read_only_cluster import ReadOnlyCluster

NOW = datetime(2026, 1, 2, 3, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ahead", "reported"), [(None, 0), (0, 0), (2, 0), (-2, 0), (3, 3), (-600, -600)]
)
def test_the_time_is_the_api_servers(
    monkeypatch: pytest.MonkeyPatch, ahead: int | None, reported: int
) -> None:
    client = ReadOnlyCluster()
    found = None if ahead is None else timedelta(seconds=ahead)
    monkeypatch.setattr(client, "server_ahead", lambda: found)
    cluster = Cluster(client, Discovery(client, FakeClock()), FakeClock(NOW), "team1")
    assert cluster.now() == NOW + timedelta(seconds=reported)
