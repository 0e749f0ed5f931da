"""The measurement of `appwrapper list` runs the real command."""

import re

import pytest

from bench.listing import main


async def test_it_prints_the_wall_and_the_cpu_time(capsys: pytest.CaptureFixture[str]) -> None:
    await main(8, runs=1)
    times = r"\d+\.\d\d s \(\d+\.\d\d-\d+\.\d\d\)"
    assert re.fullmatch(
        rf"list of 8: wall {times}\nlist of 8: CPU {times}\n", capsys.readouterr().out
    )
