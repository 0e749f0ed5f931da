"""`pipx install .` gives the command, also as kubectl's plug-in: docs/users/command.md.

Long: it builds a wheel, for which pip fetches setuptools from the package index.
"""

import asyncio
import os
import re
import shutil
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.images import recipe
from localcluster.machine.child import captured
from tests.support.manifests import ROOT
from tests.support.patience import PATIENCE_SECONDS
from tests.support.walkthrough import Person, blocks_of

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "users" / "command.md"
PACKAGES = ("cli", "controller", "shared", "webhook", "worker")
PROGRAMS = ("appwrapper", "kubectl-appwrapper", "kubectl_complete-appwrapper")


FOREIGN = "raise ImportError('another distribution was imported')\n"


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel of the tracked files, and an environment for it.

    There another distribution has packages of the same names.
    """

    wheel: Path
    environment: Path

    @property
    def install(self) -> str:
        """What pipx would do, without downloads: the dependencies are this environment's."""
        python = self.environment / "bin" / "python"
        pip = f"{sys.executable} -m pip --python {python}"
        return f"{pip} install --quiet --no-index --no-deps {self.wheel}"


async def succeeds(*command: str | Path, folder: Path) -> str:
    code, output = await captured(tuple(map(str, command)), environment=os.environ, folder=folder)
    assert code == 0, output
    return output


async def tracked() -> list[str]:
    output = await succeeds("git", "ls-files", *PACKAGES, folder=ROOT)
    return output.splitlines()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Built from a copy: setuptools leaves its own files beside what it packs."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    for name in (*await tracked(), "pyproject.toml", "setup.py", "README.md", "LICENSE"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    wheels = folder / "wheels"
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels)
    await succeeds(*build, source, folder=folder)
    environment = folder / "environment"
    await succeeds(sys.executable, "-m", "venv", "--without-pip", environment, folder=folder)
    (libraries,) = environment.glob("lib/python*/site-packages")
    (libraries / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in PACKAGES:
        (libraries / name).mkdir()
        (libraries / name / "__init__.py").write_text(FOREIGN)
    (wheel,) = wheels.glob("*.whl")
    return Installed(wheel, environment)


async def test_the_wheel_holds_all_packages_below_one_name(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = [each for each in wheel.namelist() if ".dist-info/" not in each]
        (programs,) = (each for each in wheel.namelist() if each.endswith("entry_points.txt"))
        found = re.findall(r"^(\S+) = ", wheel.read(programs).decode(), re.MULTILINE)
    for_lint = "/ruff.toml"  # in the checkout only
    ours = [each for each in await tracked() if not each.endswith(for_lint)]
    assert sorted(names) == sorted(f"appwrapper_operator/{each}" for each in ours)
    assert sorted(found) == sorted(PROGRAMS)


async def test_the_commands_of_the_page_work_with_the_installed_command(
    cluster: RunningCluster, installed: Installed, tmp_path: Path
) -> None:
    programs = installed.environment / "bin"
    environment = {
        "PATH": f"{programs}:{cluster.kubectl.parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(cluster.kubeconfig),
    }
    person = Person(ROOT, environment, tmp_path, {"pipx install .": installed.install})
    for block in blocks_of(PAGE):
        await person.types(block)

    where = await succeeds(
        programs / "python",
        "-c",
        "import appwrapper_operator.cli as cli; print(cli.__file__)",
        folder=tmp_path,
    )
    assert Path(where.strip()).is_relative_to(installed.environment)
    (libraries,) = installed.environment.glob("lib/python*/site-packages")
    others = {(libraries / name / "__init__.py").read_text() for name in PACKAGES}
    assert others == {FOREIGN}
    everything = os.environ | environment
    for name, called in (
        ("appwrapper", "appwrapper"),
        ("kubectl-appwrapper", "kubectl appwrapper"),
    ):
        code, output = await captured(
            (str(programs / name), "--version"), environment=everything, folder=tmp_path
        )
        assert (code, output.strip()) == (0, f"{called} {recipe.version()}")

    for words, proposed in ((("",), "team"), (("team", ""), "create"), (("team", "sh"), "show")):
        asked = (str(cluster.kubectl), "__complete", "appwrapper", *words)
        code, output = await asyncio.wait_for(
            captured(asked, environment=everything, folder=tmp_path), PATIENCE_SECONDS
        )
        assert code == 0, output
        assert proposed in output.splitlines()
