"""A decision asks for each fact that costs a read or a permit, in a fixed order."""

import sys
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases.ask import Ask, Need, NotRead
from controller.phases.decide import next_step
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    CreateProblem,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    PodSetInfos,
    Presence,
    Queueing,
    ResetHold,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal
from tests.support import decisions
from tests.support.decisions import CONFIG, asked, asked_and_decided
from tests.support.moments import NOW
from tests.support.phase_walk import CONFIG as WALKED
from tests.support.phase_walk import NOW as WALKED_AT
from tests.support.phase_walk import every_decision

JOB = replace(decisions.JOB, expected_pods=2)
OLD_RULES = FaultTolerance(error_aggregation="default")
# Nothing but the exit codes asks for pods.
CODES = replace(OLD_RULES, remember_suspects=False, retryable_exit_codes=frozenset({7}))
STORE = replace(CONFIG, error_store="team")
ENDED = replace(JOB, terminal=Terminal.SUCCEEDED)
FAILED = replace(JOB, terminal=Terminal.FAILED)
DEPLOYED = frozenset({"ResourcesDeployed"})
SUCCEEDED = Snapshot(phase=Phase.SUCCEEDED, conditions=DEPLOYED, components=(ENDED,))
QUEUED = Snapshot(phase=Phase.SUSPENDED, queued=True)
RUNNING = Snapshot(
    phase=Phase.RUNNING, components=(JOB,), pods=PodCounts(expected=2, running=2), labelled_pods=2
)
ALL_ENDED = replace(RUNNING, components=(ENDED,), pods=PodCounts(expected=2, succeeded=2))
ITS_PODS_ENDED = replace(
    ALL_ENDED,
    components=(replace(JOB, kind="Deployment", reports=False),),
    pods=PodCounts(expected=2, succeeded=2, loose_succeeded=2),
)
BEGUN = Timers(success=NOW - timedelta(minutes=1))
LONG_AGO = NOW - timedelta(days=1)
# The grace period of the failed pod is over.
ONE_FAILED = replace(
    RUNNING, pods=PodCounts(expected=2, running=1, failed=1), timers=Timers(failure=LONG_AGO)
)
GAVE_UP = replace(ONE_FAILED, components=(FAILED,))
EVACUATED = replace(RUNNING, evacuation=Evacuation("node a"))
WAITS = ResetHold(HoldReason.RATE, "its turn comes", timedelta(seconds=3))
OPEN = ResetHold(HoldReason.BREAKER, "an admin must confirm")
OBSERVED, NAMESPACE, PERMIT, LIVE = (
    Need.OBSERVED,
    Need.NAMESPACE,
    Need.PERMIT_RESET,
    Need.LIVE_PODS,
)


def case(name: str, expected: list[Need], snapshot: Snapshot, *, config: Any = CONFIG) -> Any:
    return pytest.param(snapshot, config, expected, id=name)


@pytest.mark.parametrize(
    ("snapshot", "config", "expected"),
    [
        case("nothing was deployed", [OBSERVED], Snapshot(phase=Phase.EMPTY)),
        case(
            "new, and Kueue did not admit it at once",
            [OBSERVED],
            replace(QUEUED, phase=Phase.EMPTY, suspend=True),
        ),
        case("it waits for Kueue", [Need.KUEUE, Need.QUEUE, OBSERVED], QUEUED),
        case("Kueue suspends it", [Need.QUEUE, OBSERVED], replace(QUEUED, suspend=True)),
        case(
            "Kueue creates no Workload",
            [Need.QUEUE, Need.KUEUE_SETTINGS, OBSERVED],
            replace(QUEUED, suspend=True, queueing=Queueing(workload=False)),
        ),
        case("its user suspends it", [OBSERVED], Snapshot(phase=Phase.SUSPENDED, suspend=True)),
        case("admitted", [OBSERVED], replace(QUEUED, pod_set_infos=PodSetInfos.COMPLETE)),
        case("deleted", [Need.PROOF], replace(QUEUED, deletion_requested=True, finalizer=True)),
        case("deleted, without a finalizer", [OBSERVED], replace(QUEUED, deletion_requested=True)),
        case(
            "deleted while it waits",
            [OBSERVED],
            replace(QUEUED, deletion_requested=True, finalizer=True, never_deployed=True),
        ),
        case("all is well", [OBSERVED], RUNNING),
        case("a reset deletes", [Need.PROOF_SAVE_KEPT], replace(RUNNING, phase=Phase.RESETTING)),
        case(
            "a suspension deletes, and something is left",
            [Need.PROOF_SAVE_KEPT],
            replace(RUNNING, phase=Phase.SUSPENDING, queued=True),
        ),
        case(
            "a suspension deleted all of a queued AppWrapper",
            [Need.PROOF_SAVE_KEPT, Need.EVICTION],
            Snapshot(phase=Phase.SUSPENDING, queued=True, gone=True),
        ),
        case(
            "a suspension deleted all, without a queue",
            [Need.PROOF_SAVE_KEPT],
            Snapshot(phase=Phase.SUSPENDING, gone=True),
        ),
        case(
            "the pause after a reset",
            [OBSERVED],
            Snapshot(phase=Phase.RESETTING, timers=Timers(retry_pause=NOW)),
        ),
        case(
            "a create fails, and its period lasts",
            [OBSERVED, NAMESPACE],
            Snapshot(phase=Phase.RESUMING, create_problem=CreateProblem(False, "403")),
        ),
        case(
            "a create is tried again before a reset takes a token",
            [OBSERVED, NAMESPACE],
            Snapshot(
                phase=Phase.RESUMING,
                components=(replace(JOB, presence=Presence.PLANNED),),
                create_problem=CreateProblem(False, "403"),
                timers=Timers(admission=LONG_AGO),
            ),
        ),
        case(
            "a component is missing",
            [OBSERVED, NAMESPACE],
            replace(RUNNING, components=(replace(JOB, presence=Presence.GONE),)),
        ),
        case(
            "a component is missing after success",
            [OBSERVED],
            replace(SUCCEEDED, components=(replace(ENDED, presence=Presence.GONE),), timers=BEGUN),
        ),
        case("a component failed", [OBSERVED, NAMESPACE, PERMIT, LIVE], GAVE_UP),
        case("no retry is left", [OBSERVED, NAMESPACE, LIVE], replace(GAVE_UP, retries=3)),
        case(
            "a failed pod is known, and no root cause decides",
            [OBSERVED, NAMESPACE, PERMIT],
            GAVE_UP,
            config=OLD_RULES,
        ),
        case(
            "no failed pod is known",
            [OBSERVED, NAMESPACE, PERMIT, LIVE],
            replace(RUNNING, components=(FAILED,)),
            config=OLD_RULES,
        ),
        case(
            "no node is suspected",
            [OBSERVED, NAMESPACE, PERMIT],
            replace(RUNNING, components=(FAILED,)),
            config=replace(OLD_RULES, remember_suspects=False),
        ),
        case("exit codes", [OBSERVED, NAMESPACE, PERMIT, LIVE], GAVE_UP, config=CODES),
        case("a pod failed just now", [OBSERVED], replace(ONE_FAILED, timers=Timers())),
        case("a pod failed", [OBSERVED, PERMIT, LIVE], ONE_FAILED),
        case(
            "records come first", [OBSERVED, Need.RECORDS, PERMIT, LIVE], ONE_FAILED, config=STORE
        ),
        case(
            "while the store is read no token is taken",
            [OBSERVED, Need.RECORDS],
            replace(ONE_FAILED, reads_store=True),
            config=STORE,
        ),
        case(
            "the store was read",
            [OBSERVED, PERMIT, LIVE],
            replace(ONE_FAILED, store_read=True),
            config=STORE,
        ),
        case(
            "root causes are off",
            [OBSERVED, PERMIT, LIVE],
            ONE_FAILED,
            config=replace(STORE, error_aggregation="off"),
        ),
        case(
            "a reset that waits lists no pods",
            [OBSERVED, PERMIT],
            replace(ONE_FAILED, reset_hold=WAITS),
        ),
        case("a node is bad", [OBSERVED, Need.PERMIT_EVACUATION, Need.LIVE_LABELS], EVACUATED),
        case(
            "a node is bad and no retry is left",
            [OBSERVED, Need.PERMIT_EVACUATION, Need.LIVE_LABELS, LIVE],
            replace(EVACUATED, retries=3),
        ),
        case(
            "the breaker holds an evacuation",
            [OBSERVED, Need.PERMIT_EVACUATION],
            replace(EVACUATED, evacuation_hold=OPEN),
        ),
        case(
            "a pod failed while the breaker holds an evacuation",
            [OBSERVED, Need.PERMIT_EVACUATION, Need.RECORDS, PERMIT, LIVE],
            replace(ONE_FAILED, evacuation=Evacuation("node a"), evacuation_hold=OPEN),
            config=STORE,
        ),
        case("all ended", [OBSERVED, LIVE], ALL_ENDED),
        case("all pods ended", [OBSERVED, LIVE], ITS_PODS_ENDED),
        case(
            "all ended by its pods, and others run",
            [OBSERVED],
            replace(ITS_PODS_ENDED, pods=replace(ITS_PODS_ENDED.pods, running=1)),
        ),
        case(
            "all ended, and a pod runs",
            [OBSERVED, LIVE],
            replace(ALL_ENDED, pods=PodCounts(succeeded=1, unawaited=1)),
        ),
        case(
            "such a pod has time",
            [OBSERVED],
            replace(
                ALL_ENDED,
                pods=PodCounts(succeeded=1, unawaited=1),
                timers=Timers(stragglers=NOW),
            ),
        ),
        case("its TTL lasts", [OBSERVED], replace(SUCCEEDED, timers=BEGUN)),
        case(
            "its TTL is over",
            [Need.PROOF],
            replace(SUCCEEDED, timers=Timers(success=LONG_AGO - CONFIG.success_ttl)),
        ),
        case(
            "it failed, and the grace period of its pods lasts",
            [OBSERVED],
            Snapshot(phase=Phase.FAILED, conditions=DEPLOYED),
            config=replace(CONFIG, deletion_on_failure_grace=timedelta(minutes=1)),
        ),
        case("it failed", [Need.PROOF], Snapshot(phase=Phase.FAILED, conditions=DEPLOYED)),
        case(
            "pods alone prove no success", [OBSERVED], replace(RUNNING, pods=PodCounts(succeeded=2))
        ),
    ],
)
def test_a_decision_asks_for_exactly_these_facts(
    snapshot: Snapshot, config: FaultTolerance, expected: list[Need]
) -> None:
    assert asked(snapshot, config) == expected


def test_an_ask_names_the_one_fact_that_is_missing() -> None:
    unread = frozenset({Need.OBSERVED, Need.LIVE_PODS})
    step = next_step(replace(ALL_ENDED, unread=unread), NOW, CONFIG)
    assert step == Ask(Need.OBSERVED)
    with pytest.raises(NotRead, match="this pass has not read: live pods"):
        replace(ALL_ENDED, unread=unread).require(Need.LIVE_PODS)


@pytest.mark.parametrize("config", [WALKED, replace(WALKED, error_store="team")])
def test_in_every_situation_asking_ends_and_changes_no_decision(config: FaultTolerance) -> None:
    """And no situation asks for more than a retry beside a held evacuation."""
    for snapshot, actions in every_decision():
        needs, decided = asked_and_decided(snapshot, config, WALKED_AT)
        assert len(set(needs)) == len(needs) <= 6, (snapshot, needs)
        if config is WALKED:
            assert decided == actions, (snapshot, needs)


# The fields that an answer fills, and the needs of which one must be answered.
_PROOFS = frozenset({Need.PROOF, Need.PROOF_SAVE_KEPT})
_FILLED_BY: dict[str, frozenset[Need]] = {
    "evacuation_hold": frozenset({Need.PERMIT_EVACUATION}),
    "reset_hold": frozenset({Need.PERMIT_RESET}),
    **dict.fromkeys(("gone", "blockers", "forced_off"), _PROOFS),
    **dict.fromkeys(
        (
            *("components", "pods", "labelled_pods", "stray_pods", "create_problem", "evacuation"),
            *("suspect", "root_cause", "healed", "awaits_records", "pods_fell"),
            *("unexpected_due", "unexpected_alive"),
        ),
        frozenset({Need.OBSERVED}),
    ),
}


class Watched(Snapshot):
    """A snapshot that fails if a row reads a field before its fact is read."""

    def __getattribute__(self, name: str) -> Any:
        needs = _FILLED_BY.get(name)
        copies = sys._getframe(1).f_code.co_filename.endswith("dataclasses.py")
        if needs and not copies:
            unread = object.__getattribute__(self, "unread")
            assert not needs <= unread, f"{name} is used before it is read"
        return object.__getattribute__(self, name)


def test_no_row_uses_a_fact_that_is_not_read() -> None:
    for snapshot, actions in every_decision()[::3]:
        values = {each.name: getattr(snapshot, each.name) for each in fields(Snapshot)}
        decided = asked_and_decided(Watched(**values), WALKED, WALKED_AT)[1]
        assert decided == actions, snapshot
