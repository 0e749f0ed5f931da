from bench.measurements.rotation import rotated


def test_each_goes_first_once() -> None:
    orders = [rotated("abc", number) for number in range(4)]
    assert orders == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]
