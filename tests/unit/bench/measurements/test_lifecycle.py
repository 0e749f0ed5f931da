"""How often each number of AppWrappers is measured."""

from typing import Any

import pytest

from bench.measurements.lifecycle import Lifecycle
from bench.results import Contender


async def test_more_than_150_are_measured_in_the_first_round_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = []

    async def nothing(self: Lifecycle, *given: object) -> None:
        """In place of a cluster."""

    async def many(self: Lifecycle, *given: Any) -> None:
        _, _, round_number, size, _ = given
        measured.append((round_number, size))

    monkeypatch.setattr(Lifecycle, "_warm_up", nothing)
    monkeypatch.setattr(Lifecycle, "_singles", nothing)
    monkeypatch.setattr(Lifecycle, "_many", many)
    arena: Any = None
    lifecycle = Lifecycle((1, 150, 151))
    for round_number in range(2):
        await lifecycle.run(arena, Contender.OURS, round_number)
    assert measured == [(0, 150), (0, 151), (1, 150)]
