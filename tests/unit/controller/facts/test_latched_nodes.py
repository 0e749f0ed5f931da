"""When a tag outlives its label, for how long, and how it is written down."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.latched_nodes import (
    CLOCK_SKEW,
    BadLatches,
    RecordedTag,
    cleared_at,
    clearing_problem,
    decode_latches,
    encode_latches,
    merged,
    tags_now,
)
from controller.facts.nodes import Tag
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.nodes import node
from tests.support.fakes.fake_clock import START

PERIOD = timedelta(hours=12)
SECOND = timedelta(seconds=1)
EVICTED = f"{HEALTH}=EVICT"
CAME = START - timedelta(hours=1)
HERE = Tag(EVICTED, CAME)
LATCHED = Tag(EVICTED, CAME, gone=START)


def tags(
    before: Tag, now: datetime, *labels: str, period: timedelta = PERIOD, **changes: Any
) -> dict[str, Tag]:
    """Of a node with these labels now."""
    return tags_now(
        node("n1", **changes), dict.fromkeys(labels, EVICTED), {GPU: before}, period, now
    )


def test_a_label_that_goes_leaves_a_latch() -> None:
    assert tags(HERE, START) == {GPU: LATCHED}


def test_without_a_period_nothing_outlives_its_label() -> None:
    assert tags(HERE, START, period=timedelta(0)) == {}
    assert tags(LATCHED, START + SECOND, period=timedelta(0)) == {}


def test_a_latch_ends_with_its_period() -> None:
    assert tags(LATCHED, START + PERIOD - SECOND) == {GPU: LATCHED}
    assert tags(LATCHED, START + PERIOD) == {}


def test_a_clock_that_was_set_back_makes_no_latch_longer() -> None:
    back = START - timedelta(days=1)
    assert tags(LATCHED, back) == {GPU: Tag(EVICTED, CAME, gone=back)}


def test_a_label_that_is_there_again_keeps_its_moment_and_ends_the_latch() -> None:
    assert tags(LATCHED, START + SECOND, GPU) == {GPU: HERE}
    other = tags_now(node("n1"), {GPU: "gpu-state=gone"}, {GPU: LATCHED}, PERIOD, START)
    assert other == {GPU: Tag("gpu-state=gone", CAME)}


@pytest.mark.parametrize(
    ("now", "cleared"), [(START + PERIOD, ""), (START + SECOND, "2026-01-01T12:00:00Z")]
)
def test_a_label_that_comes_after_the_latch_has_ended_is_another(
    now: datetime, cleared: str
) -> None:
    """Pods that came to the node between the two were there before it."""
    assert tags(LATCHED, now, GPU, cleared=cleared) == {GPU: Tag(EVICTED, now)}


@pytest.mark.parametrize(
    ("cleared", "is_latched"),
    [
        ("2026-01-01T10:59:59Z", True),  # the label came after it
        ("2026-01-01T11:00:00Z", False),
        ("2026-01-01T10:59:59.000001Z", False),  # in the same second
        ("2026-01-01T12:00:00+01:00", False),
        ("2026-01-01T12:04:00Z", False),  # an admin's clock is ahead
        ("2026-01-01T12:06:00Z", True),
        ("true", True),
        ("2026-01-01T11:30:00", True),  # without an offset it is no moment
        ("", True),
    ],
)
def test_an_admin_s_word_counts_for_labels_that_came_before_it(
    cleared: str, is_latched: bool
) -> None:
    for before in (HERE, LATCHED):
        assert (tags(before, START, cleared=cleared) == {GPU: LATCHED}) is is_latched


def test_a_word_that_is_left_on_the_node_hides_no_later_label() -> None:
    word = "2026-01-01T12:00:00Z"
    assert tags(LATCHED, START + SECOND, cleared=word) == {}
    later = START + timedelta(minutes=1)
    (again,) = tags_now(node("n1"), {GPU: EVICTED}, {}, PERIOD, later).values()
    gone = later + timedelta(minutes=5)
    assert tags(again, gone, cleared=word) == {GPU: Tag(EVICTED, later, gone=gone)}


def test_a_word_does_not_stop_an_evacuation_while_the_label_is_there() -> None:
    assert tags(HERE, START, GPU, cleared="2026-01-01T12:00:00Z") == {GPU: HERE}


COMMAND = (
    "kubectl annotate node n1 --overwrite workload.codeflare.dev/latch-cleared=$(date -u +%FT%TZ)"
)


@pytest.mark.parametrize(
    ("cleared", "problem"),
    [
        ("", None),
        ("2026-01-01T12:00:00Z", None),
        ("2026-01-01T12:05:00Z", None),
        ("2026-01-01T12:05:01Z", '"2026-01-01T12:05:01Z" lies in the future'),
        ("true", '"true" is not a time such as 2026-01-01T12:00:00Z'),
    ],
)
def test_a_word_that_clears_nothing_is_explained(cleared: str, problem: str | None) -> None:
    found = clearing_problem(node("n1", cleared=cleared), START)
    if problem is None:
        assert found is None
    else:
        place = "annotation workload.codeflare.dev/latch-cleared: "
        assert found == f"{place}{problem}, so it clears no latch: {COMMAND}"
    assert timedelta(minutes=5) == CLOCK_SKEW


def test_without_an_annotation_no_latch_is_cleared() -> None:
    assert cleared_at(node("n1"), START) is None


def test_it_is_read_as_it_was_written() -> None:
    text = encode_latches(
        [(node("n2"), {GPU: LATCHED, "example.com/nic": HERE}), (node("n1"), {GPU: LATCHED})]
    )
    assert decode_latches(text) == {
        GPU: {"n1": RecordedTag("uid-n1", LATCHED), "n2": RecordedTag("uid-n2", LATCHED)},
        "example.com/nic": {"n2": RecordedTag("uid-n2", HERE)},
    }


def test_people_can_read_it() -> None:
    assert encode_latches([(node("n1"), {GPU: LATCHED})]) == (
        '{\n "nvidia.com/gpu": {\n  "n1": {\n   "goneAt": "2026-01-01T12:00:00.000000Z",\n'
        '   "label": "autopilot.ibm.com/gpuhealth=EVICT",\n'
        '   "since": "2026-01-01T11:00:00.000000Z",\n   "uid": "uid-n1"\n  }\n }\n}'
    )


def test_the_doubts_of_earlier_versions_are_ignored() -> None:
    text = encode_latches([(node("n1"), {GPU: HERE})])
    earlier = text.replace('"label"', '"doubted": true,\n   "label"')
    assert decode_latches(earlier) == decode_latches(text)


def test_nothing_to_remember_is_no_text() -> None:
    assert encode_latches([]) == ""
    assert decode_latches("") == {}


@pytest.mark.parametrize(
    "text",
    ["[]", "x", '{"a": {"n": {}}}', '{"a": {"n": {"uid": "u", "label": "l", "since": "x"}}}'],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadLatches):
        decode_latches(text)


def test_two_thousand_nodes_take_half_of_a_config_map_at_most() -> None:
    uid = "01234567-89ab-cdef-0123-456789abcdef"
    nodes = [(node(f"gpu-node-{n}.example.com", uid=uid), {GPU: LATCHED}) for n in range(2000)]
    assert len(encode_latches(nodes)) < 512 * 1024


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, LATCHED),
        (Tag(EVICTED, START), Tag(EVICTED, CAME)),
        (Tag("gpu-state=gone", START, gone=START), Tag("gpu-state=gone", CAME, gone=START)),
    ],
)
def test_a_recorded_latch_is_older_than_one_that_a_new_process_observes(
    known: Tag | None, expected: Tag
) -> None:
    assert merged(LATCHED, known) == expected
