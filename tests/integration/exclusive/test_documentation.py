"""What the documents tell people to type on their own machine works, word for word."""

import os
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.machine.child import captured
from tests.support.manifests import ROOT
from tests.support.sandbox import Sandbox
from tests.support.walkthrough import Person, blocks_of

pytestmark = pytest.mark.long
TABLE = re.compile(
    r"^NAME +STATUS +QUOTA +DEPLOYED +UNHEALTHY +READY +AGE\n"
    # It may be too young for a status.
    r"sample-job +(Suspended|Resuming|Running|Succeeded|\d).*$",
    re.MULTILINE,
)


@pytest_asyncio.fixture
async def person(cluster: RunningCluster, sandbox: Sandbox) -> AsyncIterator[Person]:
    """Their own temporary folder: a cluster that somebody at this machine started stays untouched.

    Where they stop half-way, their cluster must not stay.
    """
    # The shared cluster is asked for first, so that nothing is built within the test's time.
    environment = {
        **sandbox.environment,
        "PATH": f"{cluster.kubectl.parent}:{os.environ['PATH']}",
    }
    instead = {"/tmp/second-cluster": str(sandbox.folder / "second-cluster")}
    yield Person(ROOT, environment, sandbox.folder, instead)
    down = ("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "-u", "MFLAGS", "make", "down")
    await captured(down, environment=os.environ | environment, folder=ROOT)


async def test_the_readme_starts_a_cluster_runs_a_sample_and_leaves_nothing(
    person: Person, sandbox: Sandbox
) -> None:
    (block,) = (each for each in blocks_of(ROOT / "README.md") if each.heading == "Try your own")
    output = await person.types(block)
    assert "appwrapper.workload.codeflare.dev/sample-job created" in output
    assert TABLE.search(output), output
    assert sandbox.temporary == []


async def test_on_a_laptop_the_page_needs_no_root_and_leaves_nothing(
    person: Person, sandbox: Sandbox
) -> None:
    page = blocks_of(ROOT / "docs" / "admins" / "local-cluster.md")
    blocks = [each for each in page if each.heading in ("Without root", "Options")]
    assert [each.shown is not None for each in blocks] == [True, True]
    for block in blocks:
        await person.types(block)
    assert sandbox.temporary == []
