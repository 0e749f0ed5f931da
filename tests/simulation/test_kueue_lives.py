"""The order of Kueue's and the controller's steps, as Kueue's source prescribes it."""

from tests.simulation.kueue_lives import Steps, difference, prioritized, simulated
from tests.simulation.scenarios import Act
from tests.simulation.workloads import job, wrapped

STARTED = [
    "AppWrapper a: assigned=False, deleted=False, holds quota=False, suspended=True",
    "Workload a: active=True",
    "Workload a: Admitted=True Admitted, QuotaReserved=True QuotaReserved",
    "AppWrapper a: assigned=True, suspended=False",
    "AppWrapper a: holds quota=True",
]
FINISHED = [
    "AppWrapper a: holds quota=False, phase=Succeeded",
    "Workload a: Finished=True Succeeded",
]


def begins(steps: Steps, *expected: list[str]) -> None:
    wanted = [text for part in expected for text in part]
    assert steps.handshake[: len(wanted)] == wanted


def test_a_successful_life() -> None:
    steps = simulated((1.0, wrapped("a", job("a", 1))))
    begins(steps, STARTED, FINISHED)
    assert steps.aside["Workload a, pods"] == ["False WaitForStart", "True Started"]
    assert steps.aside["Workload a, end"][:2] == ["held", "free"]


def test_a_deactivated_life_starts_again_when_it_is_active_again() -> None:
    acts = (Act(10.0, "deactivate", "a", {"seconds": 20.0}),)
    steps = simulated((1.0, wrapped("a", job("a", 1, run_for="15s"))), acts=acts)
    stopped = [
        "Workload a: active=False",
        "Workload a: Evicted=True Deactivated",
        "AppWrapper a: assigned=False, suspended=True",
        "AppWrapper a: holds quota=False",
        "Workload a: Admitted=, QuotaReserved=, Requeued=False Deactivated",
    ]
    resumed = [
        "Workload a: active=True",
        "Workload a: Requeued=True Reactivated",
        "Workload a: Admitted=True Admitted, Evicted=False QuotaReserved, "
        "QuotaReserved=True QuotaReserved",
        "AppWrapper a: assigned=True, suspended=False",
        "AppWrapper a: holds quota=True",
    ]
    begins(steps, STARTED, stopped, resumed, FINISHED)


def test_a_preempted_life_gives_way_and_starts_again() -> None:
    steps = simulated(
        (1.0, prioritized("a", "low-priority", "15s")),
        (10.0, prioritized("urgent", "high-priority", "1s")),
    )
    preempted = [
        "AppWrapper urgent: assigned=False, deleted=False, holds quota=False, suspended=True",
        "Workload urgent: active=True",
        "Workload a: Evicted=True Preempted, Preempted=True InClusterQueue",
        "AppWrapper a: assigned=False, suspended=True",
        "AppWrapper a: holds quota=False",
        "Workload a: Admitted=, QuotaReserved=, Requeued=True Preempted",
    ]
    urgent = [text.replace(" a:", " urgent:") for text in (*STARTED[2:], *FINISHED)]
    again = [
        "Workload a: Admitted=True Admitted, Evicted=False QuotaReserved, "
        "Preempted=False QuotaReserved, QuotaReserved=True QuotaReserved",
        *STARTED[3:],
    ]
    begins(steps, STARTED, preempted, urgent, again, FINISHED)
    assert steps.aside["Workload urgent, quota"] == ["False Pending", "True QuotaReserved"]


def test_lives_differ_if_two_steps_change_places() -> None:
    steps = simulated((1.0, wrapped("a", job("a", 1)))).handshake
    first, second, *rest = steps
    assert difference(steps, steps) == ""
    message = f"step 1: simulated ['{first}'], really ['{second}']"
    assert difference(steps, [second, first, *rest]) == message
