"""What the two images consist of."""

import json
import os
from pathlib import Path, PurePosixPath
from tarfile import TarInfo

import pytest
import pytest_asyncio

from localcluster.images import Images, ensure_images, recipe
from localcluster.images.archives import Archives
from localcluster.images.ensure import Builder
from localcluster.machine.progress import reporter_for, silent
from tests.e2e.image_archive import ArchivedImage

pytestmark = pytest.mark.long

BINARIES = ("webhook", "controller")
DESCRIPTIONS = {
    "webhook": "The AppWrapper admission webhook, for AI batch jobs under Kueue",
    "controller": "The AppWrapper controller, for AI batch jobs under Kueue",
}
PORTS = {"webhook": ["8443/tcp", "9443/tcp"], "controller": ["8081/tcp", "8443/tcp"]}
# Megabytes on top of the base image.
LIMITS = {"webhook": 80, "controller": 60}
NO_SOURCES = {"localcluster", "scripts", "bench", "tests", "deploy", "docs", "samples", ".git"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def images(request: pytest.FixtureRequest) -> Images:
    """Built at most once per change: on a fresh machine that takes minutes, which are shown."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return await ensure_images(reporter_for())


@pytest.fixture(params=BINARIES)
def binary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def image(images: Images, binary: str) -> ArchivedImage:
    return ArchivedImage.of(getattr(images, binary).archive)


def added(image: ArchivedImage) -> list[TarInfo]:
    """The files on top of the base image."""
    return [each for each in image.members() if each.name.split("/")[0] in ("app", "packages")]


def paths(image: ArchivedImage) -> list[PurePosixPath]:
    return [PurePosixPath(member.name) for member in image.members()]


def test_the_name(images: Images, image: ArchivedImage, binary: str) -> None:
    name = f"localhost/appwrapper-{binary}:{recipe.version()}"
    assert getattr(images, binary).name == name
    assert image.tags == [name]


async def test_the_configuration(image: ArchivedImage, binary: str) -> None:
    config = dict(image.configuration["config"])
    ports = config.pop("ExposedPorts")
    assert sorted(ports) == PORTS[binary]
    labels = config.pop("Labels")
    assert labels.pop("org.opencontainers.image.revision") == await recipe.revision(binary)
    assert labels == {
        "org.opencontainers.image.title": f"appwrapper-{binary}",
        "org.opencontainers.image.description": DESCRIPTIONS[binary],
        "org.opencontainers.image.version": recipe.version(),
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    assert config == {
        "User": "65532:65532",
        "Entrypoint": ["python3", "-m", binary],
        "WorkingDir": "/app",
        "Env": [
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH=/app:/packages",
            "PYTHONSAFEPATH=1",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
        ],
    }


def test_nothing_of_the_machine_that_built_it_stays(image: ArchivedImage) -> None:
    everything = json.dumps(image.configuration)
    # Not the bare folders: a clone may lie in /app, which is a folder of the image, too.
    folders = (str(Archives().folder), f"{recipe.ROOT}/localcluster")
    for trace in (*folders, "://", "PIP_", "pip.conf"):
        assert trace not in everything.replace("target=/etc/pip.conf", "")
    assert "pip.conf" not in {path.name for path in paths(image)}


def test_only_root_owns_or_may_write_files(image: ArchivedImage) -> None:
    for member in added(image):
        assert (member.uid, member.gid) == (0, 0), member.name
        assert member.isfile() or member.isdir() or member.issym(), member.name
        if not member.issym():
            assert member.mode & 0o7022 == 0, f"{member.name} has mode {member.mode:o}"


def test_there_is_a_user_of_that_number_and_no_way_to_log_in(
    image: ArchivedImage, tmp_path: Path
) -> None:
    root = image.extract(tmp_path / "root")
    *_, user = (root / "etc" / "passwd").read_text().splitlines()
    assert user == "nonroot:x:65532:65532:nonroot:/nonexistent:/usr/sbin/nologin"
    *_, group = (root / "etc" / "group").read_text().splitlines()
    assert group == "nonroot:x:65532:"


def test_our_sources_are_those_of_this_binary_alone(image: ArchivedImage, binary: str) -> None:
    files = [PurePosixPath(member.name) for member in image.members() if member.isfile()]
    ours = {path.relative_to("app") for path in files if path.parts[0] == "app"}
    sources = {path for path in ours if path.suffix != ".pyc"}
    wanted = {
        PurePosixPath(path)
        for path in recipe.files(binary)
        if path.parts[0] in ("LICENSE", *recipe.sources(binary))
    }
    assert sources == wanted
    other = "controller" if binary == "webhook" else "webhook"
    assert not any(other == path.parts[0] for path in ours)
    for path in files:
        assert NO_SOURCES.isdisjoint(path.parts[:1]), path


def test_every_module_is_compiled(image: ArchivedImage) -> None:
    files = {PurePosixPath(member.name) for member in added(image) if member.isfile()}
    modules = {path for path in files if path.suffix == ".py"}
    compiled = {path for path in files if path.suffix == ".pyc"}
    assert len(modules) > 400
    stems = {(path.parent.parent, path.name.partition(".cpython-")[0]) for path in compiled}
    assert stems == {(path.parent, path.stem) for path in modules}


def test_it_adds_little_to_its_base(image: ArchivedImage, binary: str) -> None:
    assert sum(member.size for member in added(image)) < LIMITS[binary] * 1_000_000


async def test_two_builds_of_one_tree_are_the_same_to_the_byte(
    images: Images, tmp_path: Path
) -> None:
    """Configuration and layers: the archive names them by their digests."""
    first = ArchivedImage.of(images.controller.archive)
    ours = Archives()
    again = Archives(tmp_path / "images")
    again.folder.mkdir()
    # What does not depend on our tree: the base image and what was downloaded.
    for path in [ours.pip_cache, *ours.folder.glob("workload-*")]:
        (again.folder / path.name).symlink_to(path)
    containers = Path("/var/lib/containers")
    before = sorted(os.walk(containers))
    second = await Builder(silent, again).ensure("controller")
    assert sorted(os.walk(containers)) == before, "the user's own containers were touched"
    assert str(again.folder) not in Path("/proc/self/mountinfo").read_text()
    assert second.archive != images.controller.archive
    same = ArchivedImage.of(second.archive)
    assert (same.layers, same.configuration) == (first.layers, first.configuration)
    left = {path.name for path in again.folder.iterdir() if not path.is_symlink()}
    assert left == {second.archive.parent.name, "build.lock", "build.log"}
