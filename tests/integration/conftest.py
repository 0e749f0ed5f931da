"""The cluster of integration tests: a worker attaches to its runner's, else this process owns one.

Tests in `shared` take either, so they name no program of the cluster: `RunningCluster` has none.
Tests in `exclusive` stop, restart or reconfigure programs; no worker ever runs them. Nor those in
`nodes`, which make nodes bad.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.progress import reporter_for
from localcluster.machine.slowness import stretched
from localcluster.programs.catalogue import KUEUE_VERSIONS
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.attached import AttachedCluster
from tests.support.cluster.lives import NAMESPACE as LIVES
from tests.support.cluster.lives import Lives, lives_documents
from tests.support.cluster.own_team import make_own_nodes
from tests.support.cluster.patient_client import be_patient
from tests.support.cluster.remote_observer import CLUSTER, FAILED, SOCKET, RemoteObserver
from tests.support.observer.controller_words import ControllerWords
from tests.support.observer.observer import Observer
from tests.support.sandbox import Sandbox, until_no_process_of
from tests.support.side_by_side import FOLDER
from tests.support.team import NAMESPACE, claimed

_HERE = Path(__file__).parent
# More than a few waits of PATIENCE_SECONDS: a limit that strikes ends the process.
_SECONDS = 1800
_START_SECONDS = stretched(1_800)  # a fresh machine builds first
_CLUSTERS = {"cluster", "operators"}  # to a worker, two names of one
_KEPT_LOGS: pytest.StashKey[Path] = pytest.StashKey()
_GAPS: pytest.StashKey[list[str]] = pytest.StashKey()
_OBSERVER: pytest.StashKey[Observer | RemoteObserver] = pytest.StashKey()
_WORDS: pytest.StashKey[ControllerWords] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--with",
        default="training-operator,coscheduler",
        metavar="A,B",
        help="components of this process's own cluster (training-operator,coscheduler)",
    )
    parser.addoption(
        "--kueue",
        choices=[*KUEUE_VERSIONS],
        metavar="VERSION",
        help="Kueue's version in this process's own clusters (the newest)",
    )
    parser.addoption(
        "--without-product",
        action="store_true",
        help="an own cluster without the webhook and the controller",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "writes_status(*names): this test writes the status of these AppWrappers by hand, so that"
        " the observer says nothing of them meanwhile",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limits the tests, not their fixtures: on a fresh machine the first one builds for minutes."""
    for item in items:
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS, func_only=True))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningCluster]:
    """Nodes of 8 GPUs, Kueue, a team (tests.support.team), webhook, controller; see the module.

    A test names its own objects, deletes them, and leaves no process stopped.
    """
    if folder := os.environ.get(FOLDER):
        async with _attached(request.config, Path(folder), tmp_path_factory) as attached:
            yield attached
        return
    names = str(request.config.getoption("--with")).split(",")
    options = ClusterOptions(
        components=frozenset(filter(None, names)),
        product=not request.config.getoption("--without-product"),
        kueue=request.config.getoption("--kueue"),
    )
    async with _owned(request, options) as owned:
        yield owned


@asynccontextmanager
async def _attached(
    config: pytest.Config, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningCluster]:
    """The runner's cluster, with nodes and a team for this worker."""
    async with asyncio.timeout(_START_SECONDS):
        while not (folder / SOCKET).exists():
            if (folder / FAILED).exists():
                raise LocalClusterError((folder / FAILED).read_text())
            await asyncio.sleep(0.1)
    scratch = tmp_path_factory.mktemp("attached")
    async with AttachedCluster(folder / CLUSTER, scratch) as attached:
        config.stash[_OBSERVER] = observer = RemoteObserver(folder / SOCKET)
        be_patient(attached.client)
        await make_own_nodes(attached)
        async with another_team(attached, NAMESPACE, team_documents(NAMESPACE)):
            yield attached
        observer.close()


@asynccontextmanager
async def _owned(
    request: pytest.FixtureRequest, options: ClusterOptions
) -> AsyncIterator[LocalCluster]:
    """A cluster of this process's own, observed from its start to its end."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    starting = LocalCluster(options, reporter_for())
    # The first run on a machine builds for minutes: people must see that.
    with capture.global_and_fixture_disabled():
        running = await starting.__aenter__()
    be_patient(running.client)
    try:
        with Observer(running.kubeconfig) as observer:
            request.config.stash[_OBSERVER] = observer
            words = None
            if options.product:
                words = request.config.stash[_WORDS] = ControllerWords.of(running.directory)
            yield running
            request.config.stash[_GAPS] = observer.gaps
            assert not (found := observer.report()), found
            if words is not None and not request.session.testsfailed:
                assert words.unexplained(observer.conflicts) == ""
    finally:
        if request.session.testsfailed:
            request.config.stash[_KEPT_LOGS] = running.keep_logs()
        await running.__aexit__(None, None, None)


@pytest.fixture(scope="session")
def observer(cluster: RunningCluster, request: pytest.FixtureRequest) -> Observer | RemoteObserver:
    """Watches the cluster from its start, whether or not a test asks for it."""
    return request.config.stash[_OBSERVER]


@pytest.fixture(scope="session")
def controller_words(cluster: RunningCluster, request: pytest.FixtureRequest) -> ControllerWords:
    """The metrics and the log of the cluster's controller."""
    return request.config.stash.get(_WORDS, None) or ControllerWords.of(cluster.directory)


@pytest.fixture(autouse=True)
def every_promise_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test during which a promise to Kueue was broken, or the controller had a bug.

    The first fixture of each test, so that what the test's own clean-up brings about counts too. A
    worker asks about its own namespaces; its runner asks about the rest, and about repairs, once.
    """
    yield
    if _OBSERVER not in request.config.stash or not _CLUSTERS & {*request.fixturenames}:
        return
    watching = request.config.stash[_OBSERVER]
    markers = request.node.iter_markers("writes_status")
    by_hand = {name for marker in markers for name in marker.args}
    if isinstance(watching, RemoteObserver):
        mine = claimed()
        broken, complaints = watching.violations(mine), watching.complaints(mine)
    else:
        broken, complaints = watching.violations(), _complaints(request)
    found = [str(each) for each in broken if each.name not in by_hand] + complaints
    if found:
        pytest.fail(f"during {request.node.nodeid}:\n" + "\n".join(found), pytrace=False)


def _complaints(request: pytest.FixtureRequest) -> list[str]:
    """What the own cluster's controller says of its own bugs."""
    words = request.config.stash.get(_WORDS, None)
    if words is None or "cluster" not in request.fixturenames:  # it has a cluster of another kind
        return []
    found = words.complaints()
    # A test file may have it away for all of its tests.
    controller = request.getfixturevalue("cluster").processes["controller"]
    if controller.state == "running" and (repairs := words.repairs()):
        found.append(f"{repairs:g} times only the resync found what was to be done")
    return found


@pytest.fixture(scope="session")
def operators(request: pytest.FixtureRequest) -> RunningCluster:
    """A cluster with JobSet and KubeRay: the runner's, or a second one."""
    shared = bool(os.environ.get(FOLDER))
    running: RunningCluster = request.getfixturevalue("cluster" if shared else "second_cluster")
    return running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def second_cluster(request: pytest.FixtureRequest) -> AsyncIterator[LocalCluster]:
    """A small one with JobSet and KubeRay.

    Not part of an own cluster: every test file would wait for 4 MB more of definitions.
    """
    kueue = request.config.getoption("--kueue")
    options = ClusterOptions(components=frozenset({"jobset", "kuberay"}), nodes=2, kueue=kueue)
    async with LocalCluster(options) as running:
        be_patient(running.client)
        with Observer(running.kubeconfig) as watching:
            yield running
            assert not (found := watching.report()), found
            assert watching.gaps == []
        if request.session.testsfailed:
            request.config.stash[_KEPT_LOGS] = running.keep_logs()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def second_team(second_cluster: LocalCluster) -> AsyncIterator[None]:
    async with another_team(second_cluster, LIVES, lives_documents()):
        yield


@pytest.fixture(scope="module")
def operators_team(operators: RunningCluster, request: pytest.FixtureRequest) -> None:
    """On the runner's cluster the team of the whole session: other files use it as well."""
    attached = isinstance(operators, AttachedCluster)
    request.getfixturevalue("lives_team" if attached else "second_team")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lives_team(cluster: RunningCluster) -> AsyncIterator[None]:
    async with another_team(cluster, LIVES, lives_documents()):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def lives(cluster: RunningCluster, lives_team: None) -> AsyncIterator[Lives]:
    """Each test's own AppWrappers, in a team whose quota one of them can fill."""
    async with AsyncExitStack() as stack:
        yield Lives(cluster, stack)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    kept = config.stash.get(_KEPT_LOGS, None)
    if kept is not None:
        terminalreporter.write_line(f"The logs of the cluster's components are in {kept}.")
    for gap in config.stash.get(_GAPS, []):
        terminalreporter.write_line(f"The observer had to list again: {gap}.")


@pytest_asyncio.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    (tmp_path / "tmp").mkdir()
    yield Sandbox(tmp_path)
    await until_no_process_of(tmp_path)
