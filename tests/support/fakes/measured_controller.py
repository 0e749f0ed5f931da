"""All metrics of the controller: those of a replica, and those of what the leader decides."""

from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.controller import Controller
from controller.gauges import watch_gauge
from controller.replica_metrics import ReplicaMetrics
from controller.runtime.leadership import LeaseState
from shared.config.configuration import Configuration
from shared.process.sources import Sources
from tests.support.builders.slack import SLACK, row
from tests.support.fakes.fake_kube import FakeKube


def registries() -> tuple[CollectorRegistry, ...]:
    """Those of a leader with a slack queue. Call it within an event loop."""
    settings = {"appwrapper": {"slackQueue": {"name": SLACK}}}
    client: Any = FakeKube()
    config = Configuration.model_validate(settings)
    sources = Sources.of_the_machine()
    caches = Caches.of(client, config, sources)
    controller = Controller(client, config, sources=sources, caches=caches)
    assert controller._fleet.slack is not None
    controller._fleet.slack.rows = (row(8),)
    held = LeaseState(leads=True, holder="pod_1", acquired=datetime(2026, 1, 1, tzinfo=UTC))
    watches = watch_gauge(lambda: controller.watched, lambda: 0.0)
    return ReplicaMetrics(lambda: True, held, watches).registry, controller._metrics.registry
