"""The picture has a line for each contender, with a corner for each measured number."""

from xml.etree import ElementTree

from bench.circumstances import Circumstances
from bench.recorded import Recorded
from bench.results import Contender, ResultRow, ResultSection
from scripts.benchmark_picture import CHARTS, picture

OURS, PEER, PLATFORM = Contender.OURS, Contender.PEER, Contender.PLATFORM
CIRCUMSTANCES = Circumstances("2026-01-02", "0123abcd", {}, "2 cores", 0.3, "c", 90.0)
SVG = "{http://www.w3.org/2000/svg}"


def run(*rows: ResultRow) -> Recorded:
    return Recorded(CIRCUMSTANCES, {"lifecycle": ResultSection("Lives", list(rows))})


def row(measure: str, **medians: float) -> ResultRow:
    rounds = {Contender[name]: [value] for name, value in medians.items()}
    return ResultRow(measure, "s", (), rounds)


RUN = run(
    row("100 AppWrappers: created to Succeeded", OURS=10.0, PEER=8.0, PLATFORM=4.0),
    row("1 AppWrapper: created to Succeeded", OURS=1.0, PEER=0.5, PLATFORM=1.0),
    row("1 AppWrapper: deletion once Succeeded", OURS=9.0),
    row("resident memory after 100 AppWrappers", OURS=80.0, PEER=79.0),
)


def test_each_line_begins_at_the_smallest_number() -> None:
    time, memory = CHARTS
    assert time.lines(RUN) == {
        OURS: [(1, 1.0), (100, 10.0)],
        PEER: [(1, 0.5), (100, 8.0)],
        PLATFORM: [(1, 1.0), (100, 4.0)],
    }
    assert memory.lines(RUN) == {OURS: [(100, 80.0)], PEER: [(100, 79.0)]}


def test_lines_are_drawn_to_scale_and_named_at_their_ends() -> None:
    root = ElementTree.fromstring(picture(RUN))
    lines = [each.attrib["points"].split() for each in root.iter(f"{SVG}polyline")]
    assert [len(each) for each in lines] == [2, 2, 2, 1, 1]
    assert lines[0] == ["48,194", "355,45"]
    texts = [(each.text, int(each.attrib["y"])) for each in root.iter(f"{SVG}text")]
    ends = [(name, y) for name, y in texts if name in set(Contender)]
    assert ends == [
        ("this operator", 49), ("Go operator", 82), ("platform", 148),
        ("this operator", 49), ("Go operator", 64),
    ]  # fmt: skip


def test_a_run_without_lives_has_no_lines() -> None:
    root = ElementTree.fromstring(picture(Recorded(CIRCUMSTANCES, {})))
    assert not list(root.iter(f"{SVG}polyline"))
