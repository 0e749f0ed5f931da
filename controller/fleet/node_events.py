"""Report the state of nodes to admins: Events on the Node, and log lines.

A Node has no namespace, so its Events are in namespace `default`, like the kubelet's. The
controller never writes the Node itself.
"""

import logging
from datetime import datetime
from typing import Final

from controller.facts.latched_nodes import clear_command, clearing_problem
from controller.facts.nodes import Node
from controller.fleet.node_index import NodeTest
from shared.api.times import format_duration, format_time
from shared.config.fault_tolerance import NodeHealth
from shared.kube.events import EventRecorder, ObjectReference

logger = logging.getLogger(__name__)

LATCHED: Final = "NodeLatched"
NOT_CLEARED: Final = "LatchNotCleared"
OVERDUE: Final = "TestOverdue"


class NodeEvents:
    """Emits Events on Nodes. No method fails or waits."""

    def __init__(self, recorder: EventRecorder, health: NodeHealth) -> None:
        self._recorder = recorder
        self._health = health

    def latched(self, node: Node, resource: str, label: str, gone: datetime) -> None:
        """Report that the label is gone and the node stays NoExecute."""
        until = format_time(gone + self._health.latch)
        message = (
            f"label {label} is gone; for {resource} the node stays NoExecute until {until} "
            f"(nodeHealth.latch). If it is repaired: {clear_command(node.name)}"
        )
        self._warn(node, LATCHED, message)

    def unusable_clearing(self, node: Node, now: datetime) -> None:
        """Report an annotation that is meant to clear a latch but does not."""
        if (problem := clearing_problem(node, now)) is not None:
            self._warn(node, NOT_CLEARED, problem)

    def overdue(self, node: Node, resource: str, test: NodeTest) -> None:
        """Report a test that has not ended."""
        key = test.label.partition("=")[0]
        message = (
            f"label {test.label} for longer than {format_duration(self._health.testing_timeout)} "
            f"(nodeHealth.testingTimeout): its {resource} counts as unschedulable. See why the "
            f"test does not end; to give the node back: kubectl label node {node.name} {key}-"
        )
        self._warn(node, OVERDUE, message)

    def _warn(self, node: Node, reason: str, message: str) -> None:
        logger.warning("node %s: %s", node.name, message)
        about = ObjectReference("v1", "Node", "", node.name, node.uid)
        self._recorder.warning(about, reason, message)
