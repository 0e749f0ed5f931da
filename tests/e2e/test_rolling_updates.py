"""Our own pods are replaced, deleted and killed while users go on: who is refused, and why."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from tests.e2e.load import Load, loading
from tests.e2e.product_pods import (
    identities,
    pods_of,
    process_of,
    roll,
    until_whole,
)
from tests.e2e.research_team import a_team
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import ends_well
from tests.support.cluster.people import person
from tests.support.patience import comes_to

NAMESPACE = "load"
# Creates a second, at most.
RATE = 5.0


@pytest_asyncio.fixture(loop_scope="session")
async def load(node_cluster: LocalCluster) -> AsyncIterator[Load]:
    """A member of a team of its own, whose namespace goes in the end with all that is in it."""
    member = person(node_cluster, "dave", f"{NAMESPACE}-edit-group")
    async with (
        a_team(node_cluster, NAMESPACE),
        loading(member.kubeconfig, NAMESPACE, RATE) as found,
    ):
        yield found


async def test_no_request_is_refused_during_a_rolling_update_and_a_deletion(
    node_cluster: LocalCluster, admin: Kubectl, load: Load
) -> None:
    await until_whole(node_cluster)
    enough = asyncio.Event()
    running = load.begin(enough)
    await load.more(20)
    replicas, answers = [identities(await pods_of(node_cluster, "webhook"))], [len(load.answers)]
    await roll(admin, "webhook", "controller")
    replicas.append(identities(await pods_of(node_cluster, "webhook")))
    answers.append(len(load.answers))
    first, _ = await pods_of(node_cluster, "webhook")
    await admin("delete", "pod", "-n", "appwrapper-system", first["metadata"]["name"])
    await until_whole(node_cluster)
    replicas.append(identities(await pods_of(node_cluster, "webhook")))
    answers.append(len(load.answers))
    # The last replica has its share, too.
    await comes_to(load.has_runners, True)
    await load.more(20)
    enough.set()
    await running

    assert load.failed == [], load.summary()
    assert load.unlabelled == []
    # There was a load during each step. How many answers a second came is the machine's matter.
    during = [after - before for before, after in pairwise(answers)]
    assert min(during) > 0, (during, load.summary())
    # The update replaced both replicas, and the deletion one.
    before, after, last = replicas
    assert not before & after
    assert len(after & last) == 1
    # All that the controller was to run came to its end, whatever it was in the middle of.
    await asyncio.gather(
        *(ends_well(node_cluster.client, NAMESPACE, name) for name in load.runners)
    )


@pytest.mark.long
async def test_a_killed_replica_costs_what_was_under_way_until_its_node_noticed(
    node_cluster: LocalCluster, load: Load
) -> None:
    """docs/admins/operations.md says so: nothing can drain what got SIGKILL."""
    await until_whole(node_cluster)
    enough = asyncio.Event()
    running = load.begin(enough)

    await load.more(100)
    victim, _ = await pods_of(node_cluster, "webhook")
    restarts = victim["status"]["containerStatuses"][0]["restartCount"]
    killed = time.monotonic()
    os.kill(process_of(victim).pid, signal.SIGKILL)

    async def is_back() -> bool:
        return any(
            pod["metadata"]["uid"] == victim["metadata"]["uid"]
            and pod["status"]["containerStatuses"][0]["restartCount"] == restarts + 1
            and pod["status"]["containerStatuses"][0]["ready"]
            for pod in await pods_of(node_cluster, "webhook")
        )

    await comes_to(is_back, True)
    back = time.monotonic()
    # How soon its node starts it again is not ours to say.
    await load.more(100)
    enough.set()
    await running

    # What began before may be answered after: it was under way.
    assert [each for each in load.failed if each.ended < killed or each.began > back] == []
    # Of those that were begun meanwhile most were served by the other.
    meanwhile = [each for each in load.answers if killed <= each.began <= back]
    assert sum(each.error is None for each in meanwhile) > len(meanwhile) / 2
    assert load.unlabelled == []
    [pod] = [
        each
        for each in await pods_of(node_cluster, "webhook")
        if each["metadata"]["uid"] == victim["metadata"]["uid"]
    ]
    [status] = pod["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["exitCode"] == 137
