"""Failures, evacuations and suspensions of a running AppWrapper go first in the work queue."""

import pytest

from controller.controller import Controller
from controller.gather.snapshot_gatherer import Key
from controller.runtime.workqueue import WakeReason
from shared.api.objects import JsonObject
from tests.simulation.lives.lived import NAME, Once, live
from tests.simulation.workloads import job
from tests.support.builders.appwrappers import AT_ONCE, true_conditions
from tests.support.life_record import READY

FAILS = {"run_for": "2s", "exit_code": "1"}
LASTS = {"run_for": "20s"}


def is_ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


@pytest.mark.parametrize(
    ("simulation", "act", "urgent"),
    [
        pytest.param(FAILS, None, ["Running", "Running"], id="both pods fail"),
        pytest.param(LASTS, "evacuate", ["Running"], id="a node must be left"),
        pytest.param(LASTS, "evict", ["Running"], id="Kueue suspends it"),
        pytest.param(LASTS, "delete", [], id="it is deleted, and so its pods fail"),
    ],
)
def test_urgent_wakes(simulation: dict[str, str], act: str | None, urgent: list[str]) -> None:
    found = []

    def watch(controller: Controller) -> None:
        add = controller._queue.add

        def noting(key: Key, wake: WakeReason = WakeReason.CHANGE) -> None:
            if wake is WakeReason.URGENT:
                known = controller._appwrappers.get(*key)
                found.append(known.phase if known else "")
            add(key, wake)

        controller._queue.add = noting  # type: ignore[method-assign]

    acts = () if act is None else (Once(is_ready, lambda world: world.acts.do(act, NAME)),)
    live(
        job("j", **simulation),
        acts=acts,
        periods=AT_ONCE | {"retryLimit": "1" if act else "0"},
        arrange=lambda world: world.made.append(watch),
    )
    assert found == urgent
