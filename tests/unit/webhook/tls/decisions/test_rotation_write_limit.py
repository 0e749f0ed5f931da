import pytest

from webhook.tls.decisions.rotation import WriteLimit


@pytest.mark.parametrize(
    ("at", "delay"), [(2.0, 9.0), (10.0, 1.0), (10.5, 0.5), (11.0, 0.0), (50.0, 0.0)]
)
def test_a_burst_is_allowed_and_then_as_many_in_a_window(at: float, delay: float) -> None:
    pace = WriteLimit(3, 10.0)
    for moment in (1.0, 1.5, 2.0):
        assert pace.delay(moment) == 0.0
        pace.wrote(moment)
    assert pace.delay(at) == delay
