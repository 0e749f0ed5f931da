"""The scripted runs: AppWrappers, the acts of users and nodes at fixed times, and how each ends.

`make test` runs each of them without a fault; the exploration adds every single fault.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.api.objects import JsonObject
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.workloads import (
    config_map,
    job,
    jobs_together,
    leader_and_worker,
    pytorch,
    ray,
    wrapped,
)

GONE: Final = "gone"


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a client or a node does at a virtual second. `what`: a method of `User`."""

    at: float
    what: str
    target: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """`ends`: the last phase of each AppWrapper without a fault.

    `odds`: the weights of faults in a random run, by family. No fault is injected after the second
    `faults_until`. `pods_fail` and `pods_vanish`: as in `Profile`. `skews`: one controller for
    each, with a clock that is so many seconds ahead. `leased`: they compete for the lease. `kueue`:
    how Kueue is configured.
    """

    name: str
    appwrappers: tuple[tuple[float, JsonObject], ...]
    acts: tuple[Act, ...] = ()
    ends: Mapping[str, str] = field(default_factory=dict)
    capacity: int = 6
    odds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    faults_until: float = 25.0
    pods_fail: bool = False
    pods_vanish: float = 0.0
    skews: tuple[float, ...] = (0.0,)
    leased: bool = False
    kueue: Settings = field(default_factory=Settings)


def _one(
    name: str,
    *components: JsonObject,
    acts: tuple[Act, ...] = (),
    end: str,
    capacity: int = 6,
    finalizer: bool = True,
    **periods: str,
) -> Scenario:
    """Return a scenario of one AppWrapper `a`, which is submitted in the first second."""
    body = wrapped("a", *components, periods=periods, finalizer=finalizer)
    return Scenario(name, ((1.0, body),), acts, {"a": end}, capacity)


FAILS_ONCE: Final = {"exit_code": "1", "fail_attempts": "1", "run_for": "2s"}
FOR_LONG: Final = {"run_for": "1h"}
# A component that never ends: it is suspended, starts again, and is deleted.
_SERVES: Final = (Act(15.0, "evict", "a"), Act(45.0, "delete", "a"))

_ALL: Final = (
    _one("success", config_map("c"), job(), end="Succeeded"),
    _one("retry", config_map("c"), job(**FAILS_ONCE), end="Succeeded"),
    _one("suspend", config_map("c"), job(), acts=(Act(4.5, "evict", "a"),), end="Succeeded"),
    _one("early suspend", config_map("c"), job(), acts=(Act(1.35, "evict", "a"),), end="Succeeded"),
    _one("delete", config_map("c"), job(), acts=(Act(4.5, "delete", "a"),), end=GONE),
    _one(
        "delete while it waits",
        config_map("c"),
        job(),
        acts=(Act(4.5, "delete", "a"),),
        capacity=1,
        end=GONE,
    ),
    # Kueue has admitted it, and the controller's write of Resuming is on its way.
    _one("early delete", config_map("c"), job(), acts=(Act(1.01, "delete", "a"),), end=GONE),
    _one("no webhook", config_map("c"), job(**FAILS_ONCE), finalizer=False, end="Succeeded"),
    _one(
        "no webhook, early delete",
        config_map("c"),
        job(),
        acts=(Act(1.013, "delete", "a"),),
        finalizer=False,
        end=GONE,
    ),
    _one(
        "suspend before the creates",
        config_map("c"),
        job("x"),
        acts=(Act(1.5, "evict", "a"),),  # a controller that crashes at a create is still away
        end="Succeeded",
    ),
    _one("held", config_map("c"), job(), acts=(Act(4.5, "hold", "a"),), end="Succeeded"),
    _one("early held", config_map("c"), job(), acts=(Act(1.35, "hold", "a"),), end="Succeeded"),
    _one(
        "held by its user",
        config_map("c"),
        job(),
        acts=(Act(4.5, "hold AppWrapper", "a", {"seconds": 15.0}),),
        end="Succeeded",
    ),
    # Kueue has admitted it, and the controller's write of Resuming is on its way.
    _one(
        "held early by its user",
        config_map("c"),
        job(),
        acts=(Act(1.01, "hold AppWrapper", "a", {"seconds": 1.0}),),
        end="Succeeded",
    ),
    _one(
        "component deleted",
        config_map("c"),
        job(),
        acts=(Act(4.5, "delete component", "a"),),
        end="Failed",
    ),
    _one("pod deleted", job(**FOR_LONG), acts=(Act(4.5, "delete pod", "a"),), end="Succeeded"),
    _one("evacuation", job(), acts=(Act(4.5, "evacuate", "a"),), end="Succeeded"),
    _one("retry and suspend", job(**FAILS_ONCE), acts=(Act(8.0, "evict", "a"),), end="Succeeded"),
    _one("retry and delete", job(**FAILS_ONCE), acts=(Act(13.0, "delete", "a"),), end=GONE),
    _one("two components", job("x", 1), job("y", 1, run_for="9s"), end="Succeeded"),
    _one("kept component", config_map("c", kept=True), job(**FAILS_ONCE), end="Succeeded"),
    _one("fixed name", job("x", **FAILS_ONCE), end="Succeeded"),
    _one("failure grace", job(**FAILS_ONCE), failureGracePeriodDuration="5s", end="Succeeded"),
    _one(
        "warm-up",
        job(start_after="20s"),
        warmupGracePeriodDuration="5s",
        retryLimit="1",
        end="Failed",
    ),
    _one(
        "deletion on failure grace",
        job(exit_code="1"),
        retryLimit="0",
        deletionOnFailureGracePeriodDuration="20s",
        end="Failed",
    ),
    _one("terminal exit code", job(exit_code="3"), terminalExitCodes="3", end="Failed"),
    _one("retries exhausted", job(exit_code="1"), retryLimit="1", end="Failed"),
    _one(
        "no grace",
        job(grace="0", **FAILS_ONCE),
        forcefulDeletionGracePeriodDuration="0s",
        end="Succeeded",
    ),
    _one(
        "stuck pods",
        job(ignore_deletion_for="10m"),
        acts=(Act(4.5, "delete", "a"),),
        forcefulDeletionGracePeriodDuration="20s",
        end=GONE,
    ),
    _one("PyTorchJob", pytorch("x", 2), end="Succeeded"),
    _one("PyTorchJob, retry", pytorch("x", 2, worker=FAILS_ONCE), end="Succeeded"),
    _one("PyTorchJob, suspend", pytorch("x"), acts=(Act(4.5, "evict", "a"),), end="Succeeded"),
    _one(
        "PyTorchJob, deleted while its pods are made",
        pytorch("x", worker=FOR_LONG),
        acts=(Act(1.5, "delete", "a"),),
        end=GONE,
    ),
    _one("workers outlive the master", pytorch("p", worker=FOR_LONG), end="Succeeded"),
    _one("JobSet", jobs_together("x"), end="Succeeded"),
    _one("JobSet, retry", jobs_together("x", **FAILS_ONCE), end="Succeeded"),
    _one("JobSet, suspend", jobs_together("x"), acts=(Act(4.5, "evict", "a"),), end="Succeeded"),
    _one("RayCluster", ray("x"), acts=_SERVES, end=GONE),
    _one("LeaderWorkerSet", leader_and_worker("x"), acts=_SERVES, end=GONE),
    _one("silent node", job(run_for="1m"), acts=(Act(4.5, "silence", "a"),), end="Succeeded"),
    _one(
        "unreachable node",
        job(run_for="1m"),
        acts=(Act(4.5, "silence", "a", {"seconds": 900.0}),),
        end="Succeeded",
    ),
)
SCENARIOS: Final[dict[str, Scenario]] = {each.name: each for each in _ALL}
