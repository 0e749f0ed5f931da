"""The metrics of a replica that do not depend on whether it leads.

docs/admins/metrics.md explains each metric and what to do about it.
"""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controller.gauges import ComputedGauge
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
        self.registry.register(watches)
        self.registry.register(_LeaseMetrics(state))


class _LeaseMetrics(Collector):
    """The lease as this replica sees it, computed at each scrape."""

    def __init__(self, state: LeaseState) -> None:
        self._state = state

    def describe(self) -> Iterator[Metric]:
        return self.collect()

    def collect(self) -> Iterator[Metric]:
        leads = GaugeMetricFamily(
            "leader_election_master_status",
            "1 while this replica leads, 0 while it is a standby.",
            labels=["name"],
        )
        leads.add_metric([LEASE_NAME], float(self._state.leads))
        yield leads
        acquired = GaugeMetricFamily(
            "appwrapper_lease_acquired_timestamp_seconds",
            "When the holder of the lease took it, as this replica last read it.",
            labels=["holder"],
        )
        if self._state.holder and self._state.acquired is not None:
            acquired.add_metric([self._state.holder], self._state.acquired.timestamp())
        yield acquired
        transitions = CounterMetricFamily(
            "appwrapper_lease_transitions_total",
            "How often this replica became the leader, and how often it lost the lease.",
            labels=["to"],
        )
        transitions.add_metric(["leader"], self._state.gained)
        transitions.add_metric(["standby"], self._state.lost)
        yield transitions
