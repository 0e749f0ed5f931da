"""A cluster with the operators of LeaderWorkerSets, MPIJobs and TrainJobs, for this folder alone.

Other tests define these Kinds, take them away and miss them, on the cluster that all workers share.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from localcluster.cluster import ClusterOptions, LocalCluster
from tests.support.cluster.another_team import another_team
from tests.support.cluster.lives import NAMESPACE, Lives, lives_documents
from tests.support.cluster.own_team import make_own_nodes
from tests.support.cluster.patient_client import be_patient
from tests.support.observer.controller_words import ControllerWords
from tests.support.observer.observer import Observer
from tests.support.team import WORKER

_OBSERVER: pytest.StashKey[Observer] = pytest.StashKey()
COMPONENTS = frozenset({"jobset", "leaderworkerset", "mpi-operator", "trainer"})


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def operated(request: pytest.FixtureRequest) -> AsyncIterator[LocalCluster]:
    """Observed from its start to its end, with a team whose quota one AppWrapper can fill."""
    kueue = request.config.getoption("--kueue")
    options = ClusterOptions(components=COMPONENTS, nodes=2, kueue=kueue)
    async with LocalCluster(options) as running:
        be_patient(running.client)
        with Observer(running.kubeconfig) as watching:
            request.config.stash[_OBSERVER] = watching
            if WORKER:
                await make_own_nodes(running)
            async with another_team(running, NAMESPACE, lives_documents()):
                yield running
            words = ControllerWords.of(running.directory)
            assert not (found := watching.report()), found
            assert watching.gaps == []
            assert (words.complaints(), words.repairs()) == ([], 0)


@pytest.fixture(autouse=True)
def every_promise_is_kept(operated: LocalCluster, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test during which a promise to Kueue was broken: that of this folder's cluster.

    The first fixture of each test, so that what the test's own clean-up brings about counts too.
    """
    yield
    if found := request.config.stash[_OBSERVER].report():
        kept = f"The logs of the cluster's components are in {operated.keep_logs()}."
        pytest.fail(f"during {request.node.nodeid}:\n{found}\n{kept}", pytrace=False)


@pytest_asyncio.fixture(loop_scope="session")
async def lives(operated: LocalCluster) -> AsyncIterator[Lives]:
    """Each test's own AppWrappers."""
    async with AsyncExitStack() as stack:
        yield Lives(operated, stack)
