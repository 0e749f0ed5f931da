"""One cluster with a real node for the whole run, and the product in it from its two images."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.images import Image, workload_image
from localcluster.machine.child import captured
from localcluster.machine.progress import reporter_for
from localcluster.product import NAMESPACE
from tests.e2e.research_team import TEAM, ResearchTeam, a_team
from tests.support.cluster import people
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.patient_client import be_patient
from tests.support.observer.controller_words import is_traceback
from tests.support.observer.observer import Observer

_HERE = Path(__file__).parent
# More than a few waits of PATIENCE_SECONDS: a limit that strikes ends the whole run.
_SECONDS = 1800
_KEPT_LOGS: pytest.StashKey[Path] = pytest.StashKey()
_GAPS: pytest.StashKey[list[str]] = pytest.StashKey()
_WATCHING: pytest.StashKey[Observer] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limits the tests, not their fixtures: on a fresh machine the first one builds for minutes."""
    for item in items:
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS, func_only=True))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def workload(request: pytest.FixtureRequest) -> Image:
    """An image with a shell and Python, for what tests wrap. `node_cluster` has it loaded."""
    with _seen(request):
        return await workload_image(reporter_for())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node_cluster(
    request: pytest.FixtureRequest, workload: Image
) -> AsyncIterator[LocalCluster]:
    """The cluster that all tests share: a real node with the product, two simulated ones, team1.

    Simulated nodes are tainted: whatever does not tolerate them runs on `real-node`. A test names
    its own objects, deletes them, and leaves the product as it found it.
    """
    options = ClusterOptions(nodes=2, real_node=True, components=_components(request.session))
    starting = LocalCluster(options, reporter_for())
    with _seen(request):
        running = await starting.__aenter__()
    be_patient(running.client)
    sound = False
    try:
        assert running.node is not None
        await running.node.load(workload.archive)
        with Observer(running.kubeconfig) as observer:
            request.config.stash[_WATCHING] = observer
            yield running
            request.config.stash[_GAPS] = observer.gaps
            assert not (found := observer.report()), found
            assert await _tracebacks(running) == []
        sound = True
    finally:
        try:
            if request.session.testsfailed or not sound:
                await running.keep_pod_diagnostics()
                request.config.stash[_KEPT_LOGS] = running.keep_logs()
        finally:
            await running.__aexit__(None, None, None)


def _components(session: pytest.Session) -> frozenset[str]:
    """The components that the tests of this run need, by their markers."""
    needed = {"cert_manager": "cert-manager", "torch": "training-operator"}
    return frozenset(
        component
        for marker, component in needed.items()
        if any(item.get_closest_marker(marker) for item in session.items)
    )


def _seen(request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """The first run on a machine builds for minutes: people must see that."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    disabled: AbstractContextManager[None] = capture.global_and_fixture_disabled()
    return disabled


async def _tracebacks(cluster: LocalCluster) -> list[str]:
    """What the product's pods say of their own bugs, those that were replaced aside."""
    code, output = await captured(
        (
            str(cluster.kubectl),
            f"--kubeconfig={cluster.kubeconfig}",
            f"--namespace={NAMESPACE}",
            "logs",
            "--selector=app.kubernetes.io/name=appwrapper",
            "--all-containers",
            "--tail=-1",
        )
    )
    assert code == 0, output
    assert output, "the product's pods have written nothing"
    return [line for line in output.splitlines() if is_traceback(line.encode())]


@pytest.fixture(scope="session")
def observer(node_cluster: LocalCluster, request: pytest.FixtureRequest) -> Observer:
    """Watches the cluster from its start, whether or not a test asks for it."""
    return request.config.stash[_WATCHING]


@pytest.fixture(autouse=True)
def every_promise_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test during which a promise to Kueue was broken.

    The first fixture of each test, so that what the test's own clean-up brings about counts too.
    """
    yield
    if "node_cluster" not in request.fixturenames or _WATCHING not in request.config.stash:
        return
    if found := request.config.stash[_WATCHING].report():
        pytest.fail(f"during {request.node.nodeid}:\n{found}", pytrace=False)


@pytest.fixture(scope="session")
def admin(node_cluster: LocalCluster) -> Kubectl:
    """kubectl as the cluster's administrator."""
    return people.admin(node_cluster)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def research(node_cluster: LocalCluster) -> AsyncIterator[None]:
    """The team's namespace and quota."""
    async with a_team(node_cluster, TEAM):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def team(node_cluster: LocalCluster, research: None) -> AsyncIterator[ResearchTeam]:
    """A team and its researcher; each test's AppWrappers are deleted at its end."""
    async with AsyncExitStack() as stack:
        yield ResearchTeam(node_cluster, stack)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    kept = config.stash.get(_KEPT_LOGS, None)
    if kept is not None:
        where = f"The logs of the e2e cluster's components and of its pods are in {kept}."
        terminalreporter.write_line(where)
    for gap in config.stash.get(_GAPS, []):
        terminalreporter.write_line(f"The observer of e2e had to look anew at {gap}.")
