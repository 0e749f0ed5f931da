"""The two images as running containers: strict as a pod, without a node."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.access.certificates import Authority
from localcluster.images import Images, ensure_images, recipe
from localcluster.machine.progress import reporter_for
from shared.process.clock import SystemClock
from tests.e2e.image_archive import ArchivedImage
from tests.e2e.oci_container import Container
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.long

BINARIES = ("webhook", "controller")
CONFIG = "/etc/appwrapper/config.yaml"
# Every module of ours, the C libraries that are loaded by name, and the end of a thread.
PROGRAM = """
import importlib, os, pkgutil, socket, ssl, sys, threading
names = [each.name for each in pkgutil.walk_packages(["/app"])]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
socket.getaddrinfo("localhost", 80)
ssl.create_default_context()
thread = threading.Thread(target=os.getpid)
thread.start()
thread.join()
assert sys.flags.safe_path
assert "/app/shared/process/clock.py" == sys.modules["shared.process.clock"].__file__
print(len(names), os.getuid(), os.getgid(), os.getgroups(), os.getpid())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def images(request: pytest.FixtureRequest) -> Images:
    """Built at most once per change: on a fresh machine that takes minutes, which are shown."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return await ensure_images(reporter_for())


@pytest.fixture(scope="module", params=BINARIES)
def binary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(images: Images, binary: str) -> ArchivedImage:
    return ArchivedImage.of(getattr(images, binary).archive)


@pytest.fixture(scope="module")
def root(image: ArchivedImage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image's files, for all containers of it: none can write there."""
    return image.extract(tmp_path_factory.mktemp("image") / "root")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("appwrapper:\n  autopilot:\n    monitorNodes: false\n")
    path.chmod(0o644)
    return path


def on_this_machine(binary: str, *arguments: str) -> str:
    """What the binary writes when it runs from the checkout."""
    return subprocess.run(
        [sys.executable, "-m", binary, *arguments],
        cwd=recipe.ROOT,
        env=os.environ | {"PYTHONSAFEPATH": "", "COLUMNS": "80"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_help(image: ArchivedImage, root: Path, binary: str, tmp_path: Path) -> None:
    with Container(image, root, tmp_path / "container", ["--help"]) as container:
        assert container.wait() == 0
        assert container.text() == on_this_machine(binary, "--help")


def test_the_effective_configuration(
    image: ArchivedImage, root: Path, binary: str, config: Path, tmp_path: Path
) -> None:
    arguments = ["--config", CONFIG, "--print-config"]
    with Container(
        image, root, tmp_path / "container", arguments, mounts={CONFIG: config}
    ) as container:
        assert container.wait() == 0
        printed = on_this_machine(binary, "--config", str(config), "--print-config")
        assert container.text() == printed.replace(str(config), CONFIG)
        assert "monitorNodes: false" in container.text()


def test_a_configuration_that_is_not_there_is_named(
    image: ArchivedImage, root: Path, tmp_path: Path
) -> None:
    absent = "/etc/appwrapper/absent.yaml"
    with Container(image, root, tmp_path / "container", ["--config", absent]) as container:
        assert container.wait() == 2
        assert absent in container.text()
        assert "Traceback" not in container.text()


def test_every_module_finds_all_that_it_imports(
    image: ArchivedImage, root: Path, binary: str, tmp_path: Path
) -> None:
    folders = [recipe.ROOT / name for name in recipe.sources(binary)]
    modules = [each for folder in folders for each in folder.rglob("*.py")]
    command = ["/usr/bin/python3", "-c", PROGRAM]
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    with Container(
        image, root, tmp_path / "container", [], command=command, mounts={"/etc/hosts": hosts}
    ) as container:
        code = container.wait()
        assert (code, container.text()) == (0, f"{len(modules)} 65532 65532 [] 1\n")


def test_a_kubeconfig_is_refused_with_a_message(
    image: ArchivedImage, root: Path, config: Path, tmp_path: Path
) -> None:
    with Container(
        image,
        root,
        tmp_path / "container",
        ["--config", CONFIG],
        mounts={CONFIG: config},
        environment={"KUBECONFIG": CONFIG},
    ) as container:
        assert container.wait() == 1
        assert f"the kubeconfig {CONFIG} cannot be read" in container.text()
        assert "Leave KUBECONFIG unset in a pod" in container.text()
        assert "Traceback" not in container.text()


async def test_sigterm_ends_the_first_process(
    image: ArchivedImage, root: Path, config: Path, tmp_path: Path
) -> None:
    """While it waits for an API server, with the identity of a pod."""
    account = tmp_path / "account"
    Authority(account, SystemClock().now())
    account.chmod(0o755)
    (account / "ca.crt").chmod(0o644)
    (account / "token").write_text("token")
    (account / "namespace").write_text("appwrapper-system")
    with Container(
        image,
        root,
        tmp_path / "container",
        ["--config", CONFIG],
        mounts={CONFIG: config, "/var/run/secrets/kubernetes.io/serviceaccount": account},
        environment={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"},
    ) as container:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "127.0.0.1" not in container.text():
                assert container.process.poll() is None, container.text()
                await asyncio.sleep(0.1)
        os.kill(container.first_process(), signal.SIGTERM)
        assert await asyncio.to_thread(container.wait) == 0, container.text()
        assert "Traceback" not in container.text()
