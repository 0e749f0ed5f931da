"""Whatever happens to a node: when it is to be left, and that a restart changes nothing of it."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from controller.facts.latched_nodes import decode_latches
from controller.fleet.node_index import NodeIndex
from shared.api.times import format_precise_time
from shared.config.fault_tolerance import NodeHealth
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import TAINTS, change, node, unschedulable
from tests.support.fakes.fake_clock import START

PERIOD = timedelta(hours=12)
HEALTH = NodeHealth(latch=PERIOD)
_LABELS = st.sampled_from(["EVICT", "PASS", "ERR", "TESTING", ""])
_EVENTS = st.one_of(
    st.tuples(st.just("label"), _LABELS),
    st.tuples(st.just("hours pass"), st.integers(1, 9)),
    st.tuples(st.sampled_from(["clear", "doubt", "another node", "restart"]), st.just(None)),
)


class Model:
    """What the page promises, of one node with GPUs."""

    def __init__(self) -> None:
        self.now = START
        self.label = self.cleared = ""
        self.uid = 0
        self.came: datetime | None = None
        self.gone: datetime | None = None
        self.word: datetime | None = None
        self.doubted = False
        self.doubt: tuple[datetime, datetime] | None = None  # the interval of doubtful labels

    @property
    def is_to_be_left(self) -> bool:
        if self.label == "EVICT":
            return True
        if self.came is None or self.gone is None:
            return False
        forgiven = self.word is not None and self.came < self.word + timedelta(seconds=1)
        return not self.doubted and not forgiven and self.now < self.gone + PERIOD

    def happens(self, event: str, value: object) -> None:
        self.now += timedelta(milliseconds=1)
        left = self.is_to_be_left
        match event, value:
            case "label", str(label):
                if label == "EVICT" and self.label != "EVICT":
                    self.came = self.came if left else self.now
                    self.doubted = self.doubted and left
                elif label != "EVICT" and self.label == "EVICT":
                    self.gone = self.now
                self.label = label
            case "hours pass", int(hours):
                self.now += timedelta(hours=hours)
            case "clear", _:
                self.word, self.cleared = self.now, format_precise_time(self.now)
            case "doubt", _ if self.label == "EVICT" and self.came is not None:
                self.doubted = True
                self.doubt = self.came - timedelta(milliseconds=1), self.now
            case "another node", _:
                self.uid += 1
                self.came = self.now if self.label == "EVICT" else None
                self.gone, self.doubted = None, False
            case _:
                pass


def restarted(known: NodeIndex, model: Model) -> NodeIndex:
    """Another process that reads the same node and record, and whose breaker is still open."""
    fresh = NodeIndex(TAINTS, HEALTH)
    fresh.update(change(None, known.node("n1")), model.now)
    if model.doubt is not None:
        fresh.doubt(GPU, *model.doubt)
    fresh.adopt(decode_latches(known.record()), model.now)
    return fresh


@given(st.lists(_EVENTS, max_size=30))
def test_a_node_is_left_as_promised_and_a_restart_changes_nothing(
    events: list[tuple[str, object]],
) -> None:
    model, nodes = Model(), NodeIndex(TAINTS, HEALTH)
    for event, value in [("label", ""), *events]:
        model.happens(event, value)
        seen = node("n1", model.label, uid=f"uid-{model.uid}", cleared=model.cleared)
        nodes.pass_time(model.now)
        nodes.update(change(nodes.node("n1"), seen), model.now)
        if model.doubt is not None:
            nodes.doubt(GPU, *model.doubt)
        after = restarted(nodes, model)
        assert (after.tags, after.avoided_hosts()) == (nodes.tags, nodes.avoided_hosts())
        if event == "restart":
            nodes = after
        assert ("n1" in nodes.tags) is model.is_to_be_left
        assert (nodes.population(GPU), len(nodes)) == (1, 1)
        assert bool(nodes.tagged(GPU)) is model.is_to_be_left
        withheld = model.is_to_be_left or model.label in ("ERR", "TESTING")
        assert unschedulable(nodes) == (8 if withheld else 0)
