import pytest

from bench.statistics import Spread, percentile, spread


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        pytest.param([7.0], 99, 7.0, id="one value is every percentile"),
        pytest.param([1.0, 2.0], 50, 1.5, id="halfway between two"),
        pytest.param([4.0, 1.0, 3.0, 2.0, 5.0], 50, 3.0, id="the middle, whatever the order"),
        pytest.param([1.0, 2.0, 3.0], 0, 1.0, id="0 is the lowest"),
        pytest.param([1.0, 2.0, 3.0], 100, 3.0, id="100 is the highest"),
        pytest.param([float(each) for each in range(101)], 99, 99.0, id="99 of 0 to 100"),
        pytest.param([0.0, 10.0], 99, 9.9, id="interpolated linearly"),
    ],
)
def test_percentile(values: list[float], percent: float, expected: float) -> None:
    assert percentile(values, percent) == pytest.approx(expected)


def test_percentile_leaves_its_values_alone() -> None:
    values = [3.0, 1.0, 2.0]
    percentile(values, 50)
    assert values == [3.0, 1.0, 2.0]


def test_nothing_measured_is_not_zero() -> None:
    with pytest.raises(ValueError, match=r"^no values to take a percentile of$"):
        percentile([], 50)
    with pytest.raises(ValueError, match=r"^no values to take the median of$"):
        spread([])


def test_spread() -> None:
    assert spread([3.0, 1.0, 10.0]) == Spread(median=3.0, lowest=1.0, highest=10.0)
    assert spread([2.0, 4.0]) == Spread(median=3.0, lowest=2.0, highest=4.0)
    assert spread([5.0]) == Spread(median=5.0, lowest=5.0, highest=5.0)
