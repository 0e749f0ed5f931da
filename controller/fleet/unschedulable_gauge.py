"""The metric of the capacity that no new pod can get, by resource and reason."""

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.facts.nodes import WithheldBy
from controller.fleet.node_index import NodeIndex

_TEXT: Final = (
    "How much of the resource no new pod can have though nodes have it, each amount under one"
    " reason."
)


class UnschedulableGauge(Collector):
    """Sums up all nodes at each scrape instead of at each change of a node."""

    def __init__(self, nodes: NodeIndex) -> None:
        self._nodes = nodes

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield one family with every resource and reason, including zeros."""
        gauge = GaugeMetricFamily(
            "appwrapper_unschedulable_capacity", _TEXT, labels=["resource", "reason"]
        )
        lost = self._nodes.unschedulable_by_reason()
        for resource in self._nodes.resources:
            for reason in WithheldBy:
                amount = float(lost.get((resource, reason), 0))
                gauge.add_metric([resource, reason.value], amount)
        yield gauge
