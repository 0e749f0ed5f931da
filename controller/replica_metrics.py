"""The metrics of a replica that do not depend on whether it leads.

docs/admins/metrics.md explains each metric and what to do about it.
"""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector
from prometheus_client.core import CounterMetricFamily

from controller.gauges import ComputedGauge, Samples
from controller.runtime.leadership import LeaseState
from shared.api.names import LEASE_NAME


class ReplicaMetrics:
    """The metrics of one replica, leader or standby; the endpoint serves `registry`."""

    def __init__(
        self, ready: Callable[[], bool], state: LeaseState, watches: ComputedGauge
    ) -> None:
        """`ready` and `state` are read at each scrape."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Gauge(
            "appwrapper_controller_ready",
            "1 while the controller has listed all AppWrappers and pods, as /readyz reports.",
            registry=self.registry,
        ).set_function(lambda: float(ready()))
        for each in (watches, *_lease_metrics(state)):
            self.registry.register(each)


def _lease_metrics(state: LeaseState) -> Iterator[ComputedGauge]:
    """Yield the lease as this replica sees it."""

    def acquired() -> Samples:
        known = state.holder and state.acquired
        return {(state.holder,): known.timestamp()} if known else {}

    yield ComputedGauge(
        "leader_election_master_status",
        "1 while this replica leads, 0 while it is a standby.",
        ["name"],
        lambda: {(LEASE_NAME,): float(state.leads)},
    )
    yield ComputedGauge(
        "appwrapper_lease_acquired_timestamp_seconds",
        "When the holder of the lease took it, as this replica last read it.",
        ["holder"],
        acquired,
    )
    yield ComputedGauge(
        "appwrapper_lease_transitions_total",
        "How often this replica became the leader, and how often it lost the lease.",
        ["to"],
        lambda: {("leader",): state.gained, ("standby",): state.lost},
        CounterMetricFamily,
    )
