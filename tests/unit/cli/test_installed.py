"""The programs of the wheel beside a distribution with packages of the same names.

tests/integration/shared/test_installed_command.py installs the wheel itself.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.manifests import ROOT

PACKAGES = ("cli", "controller", "shared", "webhook", "worker")
FOREIGN = "raise ImportError(f'{__name__} of another distribution was imported')\n"


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """Our packages as the wheel places them, and another distribution's of the same names."""
    ours = tmp_path / "appwrapper_operator"
    ours.mkdir()
    for name in PACKAGES:
        (ours / name).symlink_to(ROOT / name)
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(FOREIGN)
    return tmp_path


def called(site_packages: Path, code: str, *words: str) -> str:
    script = f"import sys; sys.path.insert(0, {str(site_packages)!r}); {code}"
    command = [sys.executable, "-I", "-c", script, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=site_packages
    ).stdout


def test_the_command_finds_its_own_packages_first(site_packages: Path) -> None:
    sample = ROOT / "samples" / "wrapped-pod.yaml"
    code = "from appwrapper_operator.cli.installed import appwrapper; appwrapper()"
    assert "AppWrapper/wrapped-pod: valid\n" in called(site_packages, code, "validate", str(sample))


def test_the_completion_finds_its_own_packages_first(site_packages: Path) -> None:
    code = "from appwrapper_operator.cli import installed; installed.complete_for_kubectl()"
    assert "list" in called(site_packages, code, "li").splitlines()


def test_the_other_distribution_keeps_its_own(site_packages: Path) -> None:
    """Also in a program that imports ours: only our programs change the path of their process."""
    (site_packages / "shared" / "__init__.py").write_text("OWNER = 'another'\n")
    code = "import appwrapper_operator.cli.installed, shared; print(shared.OWNER)"
    assert called(site_packages, code) == "another\n"
