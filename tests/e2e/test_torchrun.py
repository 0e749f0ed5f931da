"""The real torchrun under the recorder: two pods of a PyTorchJob, with two ranks each, on gloo."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from localcluster.images import torch_image
from localcluster.machine.progress import reporter_for
from localcluster.machine.slowness import stretched
from tests.e2e import torch_jobs
from tests.e2e.recorded import container_ends, provide, record_of
from tests.e2e.research_team import REAL_NODE, TEAM, ResearchTeam
from tests.e2e.torch_jobs import torch_job
from tests.support.cluster.life import Life

pytestmark = [pytest.mark.long, pytest.mark.torch]

Lives = dict[str, Life]
# Eighteen interpreters load torch at once: on two cores that others use, too, it takes minutes.
SECONDS = stretched(400.0)
AGAIN = ["Resetting", "Resuming", "Running", "Succeeded"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lives(
    node_cluster: LocalCluster, research: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Lives]:
    """All jobs, submitted at once: they wait more than they compute."""
    assert node_cluster.node is not None
    await node_cluster.node.load((await torch_image(reporter_for())).archive)
    await provide(node_cluster, TEAM)
    folder = tmp_path_factory.mktemp
    bodies = {
        "raises": torch_job("raises", torch_jobs.RAISES, folder("raises")),
        "exits": torch_job("exits", torch_jobs.EXITS_42, folder("e"), terminalExitCodes="42"),
        "faults": torch_job("faults", torch_jobs.SEGMENTATION_FAULT, folder("faults")),
    }
    async with AsyncExitStack() as stack:
        team = ResearchTeam(node_cluster, stack)
        begun = await asyncio.gather(*map(team.submit, bodies.values()))
        yield dict(zip(bodies, begun, strict=True))


def the_rank(life: Life, pod: str) -> int:
    """The rank that failed there; chance says which of the pod's two it is."""
    rank = record_of(life, pod).rank
    assert rank is not None
    assert 0 <= rank < 4
    return rank


async def test_an_error_of_one_rank_is_the_root_cause(lives: Lives) -> None:
    """Cases 1, 5 and 8: the ranks that lose it fail in the same second, by gloo."""
    life = lives["raises"]
    done = await life.until_phase("Succeeded", seconds=SECONDS)
    await life.caught_up()
    assert life.phases()[-4:] == AGAIN
    found = done["status"]["rootCause"]
    error = "BeingWritten: shard 7 is not whole yet"
    rank = the_rank(life, "raises-worker-1")
    assert (found["pod"], found["node"], found["rank"]) == ("raises-worker-1", REAL_NODE, rank)
    assert found["summary"] == f"raises-worker-1 r{rank}: {error} (recoverable)"
    assert found["message"].startswith(f"{error}\n\nTraceback (most recent call last):\n")
    assert (found["confidence"], found["source"]) == ("Recorded", "TerminationMessage")


async def test_an_exit_code_of_one_rank_ends_the_job(lives: Lives) -> None:
    """Case 14: torchrun itself ends with 1; no file of its says 42."""
    life = lives["exits"]
    failed = await life.until_phase("Failed", seconds=SECONDS)
    await life.caught_up()
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]
    assert container_ends(life)["exits-worker-1"]["exitCode"] == 42
    found = failed["status"]["rootCause"]
    assert (found["pod"], found["exitCode"], found["decision"]) == (
        "exits-worker-1",
        42,
        "Terminal",
    )


async def test_a_segmentation_fault_of_one_rank_is_the_root_cause(lives: Lives) -> None:
    """Case 13: the launcher dates it late, and the ranks that lose it raise errors at once."""
    life = lives["faults"]
    done = await life.until_phase("Succeeded", seconds=SECONDS)
    await life.caught_up()
    assert life.phases()[-4:] == AGAIN
    assert container_ends(life)["faults-worker-1"]["exitCode"] == 139
    found = done["status"]["rootCause"]
    assert (found["pod"], found["exitCode"], found["signal"], found["recoverable"]) == (
        "faults-worker-1",
        139,
        11,
        True,
    )
