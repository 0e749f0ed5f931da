"""What keeps many AppWrappers and nodes from failing together."""

from datetime import timedelta

from shared.config.values import GoDuration, Section


class SlackQueue(Section):
    """The ClusterQueue whose lending follows the schedulable capacity; no name switches it off."""

    name: str = ""
    dry_run: bool = False


class NodeHealth(Section):
    """How long a node stays suspect."""

    # After Autopilot's label is gone; 0s switches the latch off.
    latch: GoDuration = timedelta(0)
    # After that long in TESTING a node counts as unschedulable and is reported. Autopilot's
    # longest test takes about 15 minutes; its next periodic run overwrites the label.
    testing_timeout: GoDuration = timedelta(hours=2)


class ResetRateLimit(Section):
    """Resets of the whole cluster: at most `burst` at once, refilled at `per_second`."""

    per_second: float = 5.0
    burst: int = 100


class EvacuationBreaker(Section):
    """Opens when more than `percent` of at least `minimum_nodes` turn NoExecute in `window`."""

    percent: int = 20
    minimum_nodes: int = 10
    window: GoDuration = timedelta(minutes=10)
