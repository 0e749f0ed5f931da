"""Which worker broke the job: told by the recorders of its workers, or by the pods alone."""

from dataclasses import replace
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.pods import pod
from tests.support.cluster.failed_workers import (
    PATIENT,
    End,
    FailureReports,
    Workers,
    column,
    decided,
    operators_log,
    raised,
    running,
    world_of,
)
from tests.support.cluster.life import Life
from tests.support.cluster.lives import Lives
from tests.support.life_record import unhealthy_reasons

RESET = "connection reset by peer"
PEER_LOSS = f"torch.distributed.DistBackendError: {RESET}"
NCCL = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting"


def training(name: str, workers: int = 2, **annotations: str) -> JsonObject:
    """Workers, each a Pod of its own, that run until a test ends them."""
    pods = [pod(f"{name}-{index}", hang="running") for index in range(workers)]
    return appwrapper(name, *pods, annotations={**PATIENT, **annotations})


async def begun(
    lives: Lives, name: str, workers: int = 2, **annotations: str
) -> tuple[Life, Workers]:
    life = await lives.begin(training(name, workers, **annotations))
    return life, await running(lives, life, workers)


async def shown(cluster: RunningCluster, name: str, world: FailureReports) -> None:
    """kubectl prints the line, and no word of the workers is in the operator's log."""
    assert await column(cluster, name) == world.root_cause["summary"]
    log = operators_log(cluster)
    assert "SECRET" in world.root_cause["message"]
    assert "SECRET" not in log


NO_RETRY = "no retry: the program recorded that none can help"
FIRST = End(after=0.25, record=raised("ValueError: bad shard SECRET-7", rank=2))
REST = {
    index: End(after=after, record=raised(PEER_LOSS, recoverable=True, rank=index))
    for index, after in ((0, 0.75), (1, 1.5), (3, 0.5))
}


@pytest.mark.parametrize("order", [(2, 0, 1, 3), (3, 1, 0, 2), (0, 2, 3, 1)], ids=str)
async def test_the_first_of_four_workers_to_fail_is_named(
    lives: Lives, cluster: RunningCluster, order: tuple[int, ...]
) -> None:
    """Case 1: in whichever order the kubelets report them."""
    name = f"four-{order[0]}"
    life, workers = await begun(lives, name, 4)
    ends = {2: FIRST, **REST}
    await workers.end(ends, order=order)
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    told = workers.told(
        2,
        ends,
        what="ValueError: bad shard SECRET-7",
        note=" (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
    )
    assert world == FailureReports(**told, phase="Failed")
    assert "Resetting" not in life.phases()
    await shown(cluster, name, world)


CUDA = End(after=0.25, record=raised("RuntimeError: CUDA error SECRET-5", recoverable=True, rank=0))
BUG = End(after=1.5, record=raised("ValueError: bad shard", rank=1))


async def test_a_recoverable_root_cause_is_retried_whatever_the_other_records(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 5."""
    life, workers = await begun(lives, "recoverable", retryPausePeriodDuration="1h")
    ends = {0: CUDA, 1: BUG}
    await workers.end(ends, order=(1, 0))
    world = await world_of(lives, life, await decided(lives, life, "Resetting"))
    told = workers.told(
        0,
        ends,
        what="RuntimeError: CUDA error SECRET-5",
        note=" (recoverable)",
        decision="Retry",
        then="retry 1 of 3 follows",
    )
    assert world == FailureReports(
        **told, phase="Resetting", retries=1, suspects=(workers.node(0),)
    )
    await shown(cluster, "recoverable", world)


async def test_a_non_recoverable_root_cause_ends_it_whatever_the_other_records(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 6."""
    first = End(after=0.25, record=raised("ValueError: bad shard SECRET-6", rank=0))
    later = End(after=1.5, record=raised("RuntimeError: CUDA error", recoverable=True, rank=1))
    life, workers = await begun(lives, "hopeless")
    ends = {0: first, 1: later}
    await workers.end(ends, order=(1, 0))
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    told = workers.told(
        0,
        ends,
        what="ValueError: bad shard SECRET-6",
        note=" (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
    )
    assert world == FailureReports(**told, phase="Failed")
    assert "Resetting" not in life.phases()
    assert await lives.told("hopeless", "RootCause") == list(told["events"])
    (ended,) = await lives.told("hopeless", "NonRecoverableError")
    assert ended == f"failed: {told['unhealthy']}"
    await shown(cluster, "hopeless", world)


async def test_a_recoverable_root_cause_has_as_many_retries_as_any(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 7: the last root cause is shown, and the one before is remembered."""
    life, workers = await begun(lives, "spent", retryLimit="1")
    await workers.end({0: CUDA, 1: BUG})
    before = await world_of(lives, life, await decided(lives, life, "Resetting"))
    await lives.annotate("spent", failureGracePeriodDuration="1h")
    again = await running(lives, life, 2, attempt=2)
    second = End(after=0.25, record=raised("OSError: SECRET-8", recoverable=True, rank=1))
    ends = {0: End(after=1, record=raised(PEER_LOSS, rank=0)), 1: second}
    await again.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Failed"), events=2)
    told = again.told(
        1,
        ends,
        what="OSError: SECRET-8",
        note=" (recoverable)",
        decision="Terminal",
        then="retries exhausted (1 of 1)",
        before="retries exhausted (1 of 1): ",
    )
    entry = {
        "attempt": 1,
        "time": workers.shown(CUDA),
        "pod": "spent-0",
        "summary": "spent-0 r0: RuntimeError: CUDA error SECRET-5 (recoverable)",
        "decision": "Retry",
    }
    assert world == FailureReports(
        **told | {"events": (*before.events, *told["events"])},
        phase="Failed",
        retries=1,
        suspects=(workers.node(0),),  # a CUDA error may be the node's, an OSError is not
        history=(entry,),
    )
    await shown(cluster, "spent", world)


UNDATED = End(after=1.0, dated=False, record=raised("KeyError: SECRET-9", rank=0))
DATED = End(after=2.25, record=raised("ValueError: SECRET-9", rank=1))


@pytest.mark.parametrize(
    ("name", "undated", "winner"),
    [
        pytest.param("undated-last", replace(UNDATED, after=4.0), 1, id="ended later"),
        pytest.param("undated-first", UNDATED, 0, id="ended a second before"),
    ],
)
async def test_a_record_without_a_time_counts_from_the_end_of_its_pod(
    lives: Lives, cluster: RunningCluster, name: str, undated: End, winner: int
) -> None:
    """Case 9."""
    life, workers = await begun(lives, name)
    ends = {0: undated, 1: DATED}
    await workers.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    texts = ("KeyError: SECRET-9", "ValueError: SECRET-9")
    told = workers.told(
        winner,
        ends,
        what=texts[winner],
        note=" (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
    )
    assert world == FailureReports(**told, phase="Failed")
    await shown(cluster, name, world)


async def test_without_a_recorder_the_log_shows_it_and_retries_are_unchanged(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 11: every attempt is told once, and the limit of retries decides."""
    log = 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: SECRET-11\n'
    ends = {0: End(after=0, message=log)}
    life, workers = await begun(lives, "bare", 1, retryLimit="1")
    await workers.end(ends)
    first = await world_of(lives, life, await decided(lives, life, "Resetting"))
    what = "ValueError: SECRET-11"
    told = workers.told(0, ends, what=what, decision="Retry", then="retry 1 of 1 follows")
    assert first == FailureReports(
        **told, phase="Resetting", retries=1, suspects=(workers.node(0),)
    )
    again = await running(lives, life, 1, attempt=2)
    await again.end(ends)
    failed = await life.until_phase("Failed")
    world = await world_of(lives, life, failed, events=2)
    last = again.told(0, ends, what=what, decision="Terminal", then="retries exhausted (1 of 1)")
    assert world.root_cause == last["root_cause"]
    assert world.events == (*first.events, *last["events"])
    assert (world.retries, world.phase) == (1, "Failed")
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    await shown(cluster, "bare", world)


async def test_a_pod_out_of_memory_is_distinguished_from_its_peers(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 12: nothing was written, and all ended in the same second."""
    killed = End(code=137, reason="OOMKilled")
    lost = End(message=f"SECRET-12\n{NCCL}\n")
    ends = {0: lost, 1: lost, 2: killed}
    life, workers = await begun(lives, "oom", 3, retryPausePeriodDuration="1h")
    await workers.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Resetting"))
    told = workers.told(
        2,
        ends,
        what="OOMKilled",
        facts="exit code 137, signal 9, OOMKilled",
        summary=f"oom-2 on {workers.node(2)}: OOMKilled, exit code 137 (raise the memory limit)",
        decision="Retry",
        then="retry 1 of 3 follows",
        code="OOMKilled",
        signal=9,
        source="PodStatus",
    )
    # Neither says twice that it was killed.
    advice = "; raise the container's memory limit, or let it use less; retry"
    told["events"] = tuple(each.replace(": OOMKilled; retry", advice) for each in told["events"])
    told["unhealthy"] = told["unhealthy"].replace("): OOMKilled;", ");")
    assert world == FailureReports(**told, phase="Resetting", retries=1)
    assert await column(cluster, "oom") == world.root_cause["summary"]
    assert "SECRET-12" not in operators_log(cluster)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=str)
async def test_only_exit_codes_of_the_root_cause_decide(
    lives: Lives, cluster: RunningCluster, order: tuple[int, ...]
) -> None:
    """Case 15: the others were ended with 143, which is no retryable code."""
    name = f"codes-{order[0]}"
    ended = End(after=2, code=143)
    ends = {0: ended, 1: End(after=1, code=10, message="SECRET-15: no lease"), 2: ended}
    life, workers = await begun(lives, name, 3, retryableExitCodes="10", retryLimit="1")
    await lives.annotate(name, retryPausePeriodDuration="1h")
    await workers.end(ends, order=order)
    world = await world_of(lives, life, await decided(lives, life, "Resetting"))
    told = workers.told(
        1,
        ends,
        what="SECRET-15: no lease",
        decision="Retry",
        then="retry 1 of 1 follows",
    )
    assert world == FailureReports(
        **told, phase="Resetting", retries=1, suspects=(workers.node(1),)
    )
    await shown(cluster, name, world)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
async def test_at_equal_times_an_own_error_takes_precedence_over_a_lost_peer(
    lives: Lives, cluster: RunningCluster, order: tuple[int, ...]
) -> None:
    """Case 16: torch writes whole seconds."""
    name = f"equal-{order[0]}"
    whole: dict[str, Any] = {"precision_ns": 1_000_000_000}
    lost = End(after=1, record=raised(PEER_LOSS, rank=0, recoverable=True, **whole))
    own = End(after=1, record=raised("ValueError: SECRET-16", rank=1, **whole))
    ends = {0: lost, 1: own}
    life, workers = await begun(lives, name)
    await workers.end(ends, order=order)
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    told = workers.told(
        1,
        ends,
        what="ValueError: SECRET-16",
        note=" (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
    )
    assert world == FailureReports(**told, phase="Failed")
    await shown(cluster, name, world)


@pytest.mark.parametrize(
    ("strategy", "phase"), [("default", "Failed"), ("off", "Failed"), ("earliest", "Resetting")]
)
async def test_each_strategy_decides_about_a_root_cause(
    lives: Lives, cluster: RunningCluster, strategy: str, phase: str
) -> None:
    """A collateral 143 is terminal by the old rule, which asks every failed pod."""
    name = f"by-{strategy}"
    root = End(after=1, code=1, record=raised("OSError: SECRET-0", recoverable=True, rank=0))
    ended = End(after=2, code=143)
    annotations = {"errorAggregation": strategy, "terminalExitCodes": "143"}
    life, workers = await begun(lives, name, 2, **annotations)
    await workers.end({0: root, 1: ended})
    state = await decided(lives, life, phase)
    world = await world_of(lives, life, state, events=int(strategy != "off"))
    if strategy == "off":
        assert (world.root_cause, world.history) == ({}, ())
        assert await column(cluster, name) == ""
    else:
        assert world.root_cause["pod"] == f"{name}-0"
        assert world.root_cause["decision"] == {"Failed": "Terminal", "Resetting": "Retry"}[phase]
        await shown(cluster, name, world)
    assert world.retries == (phase == "Resetting")
