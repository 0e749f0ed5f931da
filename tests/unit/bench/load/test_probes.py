import pytest

from bench.load.probes import waits


def test_a_prompt_answer_is_one_sample() -> None:
    assert waits(0.004) == [0.004]


def test_a_late_answer_also_delays_the_probes_that_were_due_meanwhile() -> None:
    assert waits(0.025) == pytest.approx([0.025, 0.015, 0.005])
