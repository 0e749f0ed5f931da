"""What one member of a team may store does not fill the controller's memory, nor that of its start.

AppWrappers of a megabyte, suspended for lack of quota. Decoded, each takes 22 MiB, and a third more
while it is being decoded. The API server needs 80 MiB for each, and four seconds to store it: so
here are as many as show the difference. 200 are for docs/admins/operations.md, by another server.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import (
    another_team,
    member_of,
    team_documents,
    without_quota,
)
from tests.support.cluster.answers import created
from tests.support.cluster.removed import removed
from tests.support.patience import comes_to
from tests.support.team import own

pytestmark = pytest.mark.long

TEAM = own("hoarders")
HOARD = [f"hoard-{number}" for number in range(10)]
TOO_SLOW = re.compile(r"deadline exceeded|[Tt]imeout|timed out")
EMPTY = 333_334  # entries of a megabyte


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: LocalCluster) -> AsyncIterator[LocalCluster]:
    documents = [without_quota(each) for each in team_documents(TEAM)]
    async with another_team(cluster, TEAM, documents):
        yield cluster
        # One after the other, while their queue exists. If they go with the namespace, all are
        # written at once, each with another status for the lost queue: requests to the API server
        # end without an answer and are sent again.
        for name in (*HOARD, "last"):
            await removed(cluster.client, APPWRAPPERS, TEAM, name)


def waiting(name: str, entries: int = 0) -> JsonObject:
    """One that waits for quota."""
    template = pod_template(container="pytorch")
    (container,) = template["spec"]["containers"]
    container["env"] = [{}] * entries
    return appwrapper(name, pytorch_job(name, Master=template), namespace=TEAM)


async def create_and_wait(cluster: LocalCluster, body: JsonObject) -> None:
    """As a member of the team; returns when the controller has looked at it.

    A busy machine may need longer for a megabyte than a webhook has: then its user tries again.
    """

    async def is_stored() -> bool:
        response = await created(member_of(cluster, TEAM), body, TEAM)
        stored = response.code in (201, 409)  # stored by a try that was not answered in time
        assert stored or TOO_SLOW.search(response.message), response.message
        return stored

    await comes_to(is_stored, True)
    name = body["metadata"]["name"]

    async def its_phase() -> str:
        return phase(await cluster.client.get(APPWRAPPERS, TEAM, name))

    await comes_to(its_phase, "Suspended")


def resident(pid: int, field: str) -> float:
    """In MiB: now (`VmRSS`), or the most that it ever was (`VmHWM`)."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{field}:\s*([0-9]+) kB$", status, re.M)
    assert found is not None
    return int(found[1]) / 1024


async def test_large_appwrappers_fill_neither_the_controller_nor_its_start(
    team: LocalCluster,
) -> None:
    controller = team.processes["controller"]
    before = resident(controller.pid, "VmRSS")
    for name in HOARD:
        await create_and_wait(team, waiting(name, EMPTY))
    # Two are in memory for a moment, when a write of ours is answered while an event comes.
    assert resident(controller.pid, "VmHWM") < before + 100
    controller = await team.processes.restart("controller")
    await create_and_wait(team, waiting("last"))  # so the list is in, and passes have been made
    assert resident(controller.pid, "VmHWM") < 300  # with one page of eight
    assert resident(controller.pid, "VmRSS") < before + 100
