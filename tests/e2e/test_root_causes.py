"""Real containers fail one because of the other; who broke the job is found, shown and judged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject
from tests.e2e import failing_jobs
from tests.e2e.failing_jobs import CUDA
from tests.e2e.recorded import container_ends, provide, record_of
from tests.e2e.research_team import REAL_NODE, TEAM, ResearchTeam
from tests.support.builders.appwrappers import phase
from tests.support.cluster.explaining import explain
from tests.support.cluster.life import Life
from tests.support.command import Ended, appwrapper
from tests.support.life_record import UNHEALTHY, condition
from tests.support.patience import comes_to

Lives = dict[str, Life]
AGAIN = ["Resetting", "Resuming", "Running", "Succeeded"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lives(
    node_cluster: LocalCluster, research: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Lives]:
    """All jobs, submitted at once: they wait more than they compute."""
    await provide(node_cluster, TEAM)
    async with AsyncExitStack() as stack:
        team = ResearchTeam(node_cluster, stack)
        bodies = {
            name: make(tmp_path_factory.mktemp(name)) for name, make in failing_jobs.ALL.items()
        }
        begun = await asyncio.gather(*map(team.submit, bodies.values()))
        found = dict(zip(bodies, begun, strict=True))
        await asyncio.gather(
            *(
                failing_jobs.end_of_grace(team, found[name], body)
                for name, body in bodies.items()
                if name != failing_jobs.HEALTHY
            )
        )
        yield found


async def test_the_first_of_four_pods_to_fail_is_named_with_its_log(
    lives: Lives, team: ResearchTeam, node_cluster: LocalCluster
) -> None:
    """Nothing of the image is changed, and its pods are gone when somebody looks."""
    life = lives["unrecorded"]
    done = await life.until_phase("Succeeded")
    assert life.phases()[-4:] == AGAIN
    found = root_cause(done)
    assert found == {
        "attempt": 1,
        "pod": "unrecorded-c",
        "container": "main",
        "node": REAL_NODE,
        "origin": "Unknown",
        "exitCode": 1,
        "message": (
            'Traceback (most recent call last):\n  File "train.py", line 12, in <module>\n' + CUDA
        ),
        "summary": f"unrecorded-c on {REAL_NODE}: {CUDA}",
        "source": "Log",
        "confidence": "Inferred",
        "failedPods": 4,
        "records": 0,
        "decision": "Retry",
    }
    others = "unrecorded-a on {0} (exit code 1), unrecorded-b on {0} (exit code 1), unrecorded-c"
    assert unhealthy_in_reset(life) == (
        f"unrecorded-c on {REAL_NODE} failed first (exit code 1): {CUDA}; 4 failed pods:"
        f" {others.format(REAL_NODE)} on {REAL_NODE} (exit code 1) and 1 more"
    )
    [event] = await events(team, "unrecorded")
    assert event.startswith(f"unrecorded-c on {REAL_NODE} failed first (exit code 1) at ")
    assert event.endswith("; retry 1 of 3 follows")
    assert CUDA in event
    explained = await explain(node_cluster, TEAM, "unrecorded")
    assert (explained.code, CUDA in explained.out) == (0, True)
    kept = await logs(team, "unrecorded", "--attempt", "1")
    assert (kept.code, kept.err) == (0, "")
    assert kept.out.startswith("The pods of attempt 1 of unrecorded are deleted.\n")
    assert f"  {CUDA}\n" in kept.out


async def test_a_container_out_of_memory_wins_over_the_peer_that_lost_it(
    lives: Lives, team: ResearchTeam
) -> None:
    """Case 12: the kernel ends it, and with it the peer's connection."""
    life = lives["memory"]
    done = await life.until_phase("Succeeded")
    assert life.phases()[-4:] == AGAIN
    found = root_cause(done)
    assert found == {
        "attempt": 1,
        "pod": "memory-b",
        "container": "main",
        "node": REAL_NODE,
        "code": "OOMKilled",
        "origin": "Unknown",
        "exitCode": 137,
        "signal": 9,
        "summary": f"memory-b on {REAL_NODE}: OOMKilled, exit code 137 (raise the memory limit)",
        "source": "PodStatus",
        "confidence": "Inferred",
        "failedPods": 2,
        "records": 0,
        "decision": "Retry",
    }
    [event] = await events(team, "memory")
    assert "; raise the container's memory limit, or let it use less; retry 1 of 3 follows" in event


async def test_a_subclass_of_recoverable_error_is_retried(lives: Lives, team: ResearchTeam) -> None:
    """Cases 1, 5 and 8: whatever the others record later, be it that no retry helps."""
    life = lives["recoverable"]
    done = await life.until_phase("Succeeded")
    assert life.phases()[-4:] == AGAIN
    assert done["status"]["resettingCount"] == 1
    found = root_cause(done)
    error = "BeingWritten: shard 7 is not whole yet"
    assert found.pop("message").startswith(f"{error}\n\nTraceback (most recent call last):\n")
    assert found == {
        "attempt": 1,
        "pod": "recoverable-c",
        "container": "main",
        "node": REAL_NODE,
        "rank": 0,
        "code": "BeingWritten",
        "origin": "User",
        "recoverable": True,
        "exitCode": 1,
        "summary": f"recoverable-c r0: {error} (recoverable)",
        "source": "TerminationMessage",
        "confidence": "Recorded",
        "failedPods": 4,
        "records": 4,
        "decision": "Retry",
    }
    assert unhealthy_in_reset(life).startswith(
        f"recoverable-c on {REAL_NODE} failed first (rank 0, exit code 1): {error}; 4 failed pods: "
    )
    [event] = await events(team, "recoverable")
    assert error in event
    await life.caught_up()
    kinds = {name: record_of(life, name).recoverable for name in container_ends(life)}
    assert kinds == {f"recoverable-{each}": each != "b" for each in "abcd"}


async def test_a_non_recoverable_error_ends_the_job_at_once(
    lives: Lives, team: ResearchTeam
) -> None:
    """Case 6: although another would have been worth one, later."""
    life = lives["non-recoverable"]
    failed = await life.until_phase("Failed")
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]
    assert failed["status"].get("resettingCount", 0) == 0
    found = root_cause(failed)
    assert (found["pod"], found["code"], found["recoverable"], found["decision"]) == (
        "non-recoverable-b",
        "ValueError",
        False,
        "Terminal",
    )
    [event] = await events(team, "non-recoverable")
    assert event.endswith("; no retry: the program recorded that none can help")
    await life.caught_up()
    assert record_of(life, "non-recoverable-a").recoverable


async def test_a_segmentation_fault_of_a_rank_is_the_pods(lives: Lives) -> None:
    """Case 13: the launcher ends with 1, whatever its rank ended with."""
    life = lives["segfault"]
    done = await life.until_phase("Succeeded")
    assert life.phases()[-4:] == AGAIN
    await life.caught_up()
    assert container_ends(life)["segfault-a"]["exitCode"] == 139
    found = root_cause(done)
    assert (found["rank"], found["exitCode"], found["signal"], found["recoverable"]) == (
        1,
        139,
        11,
        True,
    )


async def test_a_healthy_job_stays_healthy_and_writes_nothing(
    lives: Lives, team: ResearchTeam
) -> None:
    life = lives["healthy"]
    done = await life.until_phase("Succeeded")
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    assert {"rootCause", "errorHistory"} & done["status"].keys() == set()
    await life.caught_up()
    ended = container_ends(life)["healthy-a"]
    assert (ended["exitCode"], ended.get("message")) == (0, None)
    shown = await logs(team, "healthy", "--follow")
    assert (shown.code, shown.err) == (0, "")
    assert {"rank 0 of 2", "rank 1 of 2"} <= {*shown.out.splitlines()}


async def logs(team: ResearchTeam, *words: str) -> Ended:
    """`appwrapper logs` under the rights of a member of the team."""
    where = ("--kubeconfig", str(team.researcher.kubeconfig), "-n", TEAM)
    return await asyncio.to_thread(appwrapper, "logs", *words, *where)


def root_cause(item: JsonObject) -> dict[str, Any]:
    """`status.rootCause` without what differs from run to run: the time, and the pod's UID."""
    found = dict(item["status"]["rootCause"])
    assert found.pop("time")
    found.pop("podUID", None)
    return found


def unhealthy_in_reset(life: Life) -> str:
    """The message of Unhealthy with which the first reset began."""
    resetting = next(each.object for each in life.events if phase(each.object) == "Resetting")
    return condition(resetting, UNHEALTHY).message


async def events(team: ResearchTeam, name: str) -> list[str]:
    """The messages of the Events RootCause, of which there is one at least."""

    async def found() -> list[str]:
        return [text for _, reason, text in await team.events_of(name) if reason == "RootCause"]

    async def any_is_there() -> bool:
        return bool(await found())

    await comes_to(any_is_there, True)
    return await found()
