"""One real cluster for the whole run, with the product and with what its tests wrap."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.progress import reporter_for
from tests.support.cluster.another_team import another_team
from tests.support.cluster.lives import NAMESPACE as LIVES
from tests.support.cluster.lives import Lives, lives_documents
from tests.support.observer.controller_words import ControllerWords
from tests.support.observer.observer import Observer
from tests.support.sandbox import Sandbox, until_no_process_of

_HERE = Path(__file__).parent
# More than a few waits of PATIENCE_SECONDS: a limit that strikes ends the whole run.
_SECONDS = 900
_KEPT_LOGS: pytest.StashKey[Path] = pytest.StashKey()
_GAPS: pytest.StashKey[list[str]] = pytest.StashKey()
_WATCHING: pytest.StashKey[tuple[Observer, ControllerWords | None]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--with",
        default="training-operator,coscheduler",
        metavar="A,B",
        help="components of the shared cluster beside Kueue (training-operator,coscheduler)",
    )
    parser.addoption(
        "--without-product",
        action="store_true",
        help="a shared cluster without the webhook and the controller",
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
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[LocalCluster]:
    """The cluster that all tests share: 8 nodes of 8 GPUs, Kueue, team1, webhook, controller.

    A test names its own objects, deletes them, and leaves no process stopped.
    """
    names = str(request.config.getoption("--with")).split(",")
    options = ClusterOptions(
        components=frozenset(filter(None, names)),
        product=not request.config.getoption("--without-product"),
    )
    capture = request.config.pluginmanager.getplugin("capturemanager")
    starting = LocalCluster(options, reporter_for())
    # The first run on a machine builds for minutes: people must see that.
    with capture.global_and_fixture_disabled():
        running = await starting.__aenter__()
    try:
        with Observer(running.kubeconfig) as observer:
            words = _controller_words(running) if running.options.product else None
            request.config.stash[_WATCHING] = observer, words
            yield running
            request.config.stash[_GAPS] = observer.gaps
            assert observer.violations() == []
            if words is not None and not request.session.testsfailed:
                assert words.unexplained(observer.conflicts()) == ""
    finally:
        if request.session.testsfailed:
            request.config.stash[_KEPT_LOGS] = running.keep_logs()
        await running.__aexit__(None, None, None)


def _controller_words(cluster: LocalCluster) -> ControllerWords:
    configuration = cluster.directory / "product" / "controller.yaml"
    return ControllerWords(configuration, cluster.processes["controller"].log)


@pytest.fixture(scope="session")
def observer(cluster: LocalCluster, request: pytest.FixtureRequest) -> Observer:
    """Watches the shared cluster from its start, whether or not a test asks for it."""
    return request.config.stash[_WATCHING][0]


@pytest.fixture(scope="session")
def controller_words(cluster: LocalCluster, request: pytest.FixtureRequest) -> ControllerWords:
    """The metrics and the log of the shared cluster's controller."""
    words = request.config.stash[_WATCHING][1]
    assert words is not None
    return words


@pytest.fixture(autouse=True)
def every_promise_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test during which a promise to Kueue was broken, or the controller had a bug.

    The first fixture of each test, so that what the test's own clean-up brings about counts too.
    """
    yield
    if "cluster" not in request.fixturenames or _WATCHING not in request.config.stash:
        return
    watching, words = request.config.stash[_WATCHING]
    markers = request.node.iter_markers("writes_status")
    by_hand = {name for marker in markers for name in marker.args}
    found = [str(each) for each in watching.violations() if each.name not in by_hand]
    if words is not None:
        found += words.complaints()
        # A test file may have it away for all of its tests.
        controller = request.getfixturevalue("cluster").processes["controller"]
        if controller.state == "running" and (repairs := words.repairs()):
            found.append(f"{repairs:g} times only the resync found what was to be done")
    if found:
        pytest.fail(f"during {request.node.nodeid}:\n" + "\n".join(found), pytrace=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def operators(request: pytest.FixtureRequest) -> AsyncIterator[LocalCluster]:
    """A second cluster beside the first, small, with the product, JobSet and KubeRay.

    Not part of the first: every test file would wait for 4 MB more of definitions to be served.
    """
    options = ClusterOptions(components=frozenset({"jobset", "kuberay"}), nodes=2)
    async with LocalCluster(options) as running:
        with Observer(running.kubeconfig) as watching:
            yield running
            assert (watching.violations(), watching.gaps) == ([], [])
        if request.session.testsfailed:
            request.config.stash[_KEPT_LOGS] = running.keep_logs()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lives_team(cluster: LocalCluster) -> AsyncIterator[None]:
    async with another_team(cluster, LIVES, lives_documents()):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def lives(cluster: LocalCluster, lives_team: None) -> AsyncIterator[Lives]:
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
        terminalreporter.write_line(f"The observer had to look anew at {gap}.")


@pytest_asyncio.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    (tmp_path / "tmp").mkdir()
    yield Sandbox(tmp_path)
    await until_no_process_of(tmp_path)
