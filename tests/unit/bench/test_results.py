import pytest

from bench.results import Contender, ResultRow, ResultSection, SpeedTarget, measured
from bench.statistics import Spread

OURS, PEER, PLATFORM = Contender.OURS, Contender.PEER, Contender.PLATFORM


def row(target: SpeedTarget | None = None, /, **rounds: list[float]) -> ResultRow:
    made = ResultRow("mutate", "ms", (target,) if target else ())
    for name, values in rounds.items():
        for value in values:
            made.add(Contender[name], value)
    return made


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (SpeedTarget(1.0, PEER), "≤ 1x Go"),
        (SpeedTarget(40, PEER, at_least=True), "≥ 40x Go"),
        (SpeedTarget(1.3, PLATFORM), "≤ 1.3x platform"),
        (SpeedTarget(8), "≤ 8"),
        (SpeedTarget(0.05, PLATFORM, beyond=True), "≤ platform + 0.05"),
    ],
)
def test_target_text(target: SpeedTarget, text: str) -> None:
    assert str(target) == text


@pytest.mark.parametrize(
    ("target", "ours", "held"),
    [
        pytest.param(SpeedTarget(1.0, PEER), 2.0, True, id="at the bound"),
        pytest.param(SpeedTarget(1.0, PEER), 2.01, False, id="just above it"),
        pytest.param(SpeedTarget(1.0, PEER, at_least=True), 2.0, True, id="at the lower bound"),
        pytest.param(SpeedTarget(1.0, PEER, at_least=True), 1.99, False, id="just below it"),
        pytest.param(
            SpeedTarget(0.5, PEER, beyond=True), 2.5, True, id="at the bound of a difference"
        ),
        pytest.param(
            SpeedTarget(0.5, PEER, beyond=True), 2.6, False, id="above that of a difference"
        ),
        pytest.param(SpeedTarget(1, PLATFORM, beyond=True), 1.0, None, id="difference to nothing"),
        pytest.param(SpeedTarget(8), 8.0, True, id="at a bound of the value"),
        pytest.param(SpeedTarget(8), 8.1, False, id="above a bound of the value"),
        pytest.param(SpeedTarget(1.3, PLATFORM), 1.0, None, id="against one that was not measured"),
    ],
)
def test_target_holds(target: SpeedTarget, ours: float, held: bool | None) -> None:
    assert target.holds(row(OURS=[ours], PEER=[2.0])) is held


def test_a_target_without_a_figure_is_open() -> None:
    assert SpeedTarget(8).holds(row(PEER=[2.0])) is None


def test_ratio_is_the_median_of_the_rounds_ratios() -> None:
    # The ratio of the medians would be 2 / 4.
    measured_row = row(OURS=[1.0, 2.0, 9.0], PEER=[4.0, 2.0, 9.0])
    assert measured_row.ratio(PEER) == Spread(median=1.0, lowest=0.25, highest=1.0)


def test_a_single_measurement_is_compared_in_every_round() -> None:
    measured_row = row(OURS=[1.0, 2.0, 9.0], PEER=[2.0])
    assert measured_row.ratio(PEER) == Spread(median=1.0, lowest=0.5, highest=4.5)


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param({"OURS": [1.0]}, id="nothing to compare with"),
        pytest.param({"PEER": [1.0]}, id="nothing of ours"),
        pytest.param({"OURS": [1.0], "PEER": [1.0, 2.0]}, id="a run that was cut short"),
        pytest.param({"OURS": [1.0], "PEER": [0.0]}, id="a measure of 0"),
    ],
)
def test_no_ratio(rounds: dict[str, list[float]]) -> None:
    assert row(None, **rounds).ratio(PEER) is None


def test_json_holds_everything() -> None:
    one = {"median": 1.0, "lowest": 1.0, "highest": 1.0}
    two = {"median": 2.0, "lowest": 2.0, "highest": 2.0}
    half = {"median": 0.5, "lowest": 0.5, "highest": 0.5}
    section = ResultSection(
        "Mutation", [row(SpeedTarget(0.4, PEER), OURS=[1.0], PEER=[2.0]), row()], ["so"]
    )
    assert section.as_json() == {
        "title": "Mutation",
        "rows": [
            {
                "measure": "mutate",
                "unit": "ms",
                "rounds": {"this operator": [1.0], "Go operator": [2.0]},
                "median": {"this operator": one, "Go operator": two},
                "ratioToGoOperator": half,
                "ratioToPlatform": None,
                "targets": [
                    {
                        "bound": 0.4,
                        "against": "Go operator",
                        "atLeast": False,
                        "beyond": False,
                        "kept": False,
                    }
                ],
            }
        ],
        "notes": ["so"],
    }


def test_a_section_is_read_as_it_was_written() -> None:
    targets = (
        SpeedTarget(0.4, PEER),
        SpeedTarget(8),
        SpeedTarget(1.3, PLATFORM, True),
        SpeedTarget(1, PEER, False, True),
    )
    one = ResultRow("mutate", "ms", targets, {OURS: [1.0, 2.0], PEER: [2.0, 2.0]})
    section = ResultSection("Mutation", [one], ["so"])
    assert ResultSection.from_json(section.as_json()) == section


def test_rows_that_were_not_measured_are_left_out() -> None:
    taken = row(OURS=[1.0])
    emptied = row(OURS=[1.0])
    emptied.rounds[OURS].clear()
    assert measured([row(), taken, emptied]) == [taken]
