from types import SimpleNamespace

import pytest

from localcluster.machine import waiting
from localcluster.machine.waiting import Probe, still_missing


def probe_of(*answers: str | None) -> Probe:
    left = list(answers)

    async def ask() -> str | None:
        return left.pop(0) if len(left) > 1 else left[0]

    return ask


async def test_it_asks_until_nothing_is_missing() -> None:
    assert await still_missing(probe_of("a", "b", None), 60.0, pause=0) is None


async def test_after_the_time_the_missing_part_is_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter((0.0, 1.0, 1.1))
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=moments.__next__))
    assert await still_missing(probe_of("a", "b"), 1.0, pause=0) == "b"


async def test_it_asks_at_least_once() -> None:
    assert await still_missing(probe_of("a"), -1.0) == "a"
    assert await still_missing(probe_of(None), -1.0) is None
