"""Why the last create failed, as this process remembers it."""

import pytest

from controller.phases.snapshot import CreateProblem
from tests.support.builders.gathering import Gathering, appwrapper, facts


@pytest.mark.parametrize(("attempt", "seen"), [(1, True), (2, False)])
async def test_a_create_problem_of_this_attempt_only_is_observed(attempt: int, seen: bool) -> None:
    problem = CreateProblem(fatal=False, message="403")
    bench = Gathering(appwrapper("Resuming"), known=facts(), get=[{"metadata": {}}])
    bench.creations.record_problem("u1", attempt, problem)
    assert (await bench.observe()).snapshot.create_problem == (problem if seen else None)
