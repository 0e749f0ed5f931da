import shutil
import subprocess
from pathlib import Path

import pytest

from localcluster.images import recipe


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small one, with all that is read."""
    root = tmp_path / "checkout"
    for name in (
        "Dockerfile.webhook",
        "Dockerfile.controller",
        "LICENSE",
        "requirements-webhook.lock",
        "requirements-controller.lock",
        "deploy/manifests/base.yaml",
        "shared/process/clock.py",
        "shared/__pycache__/clock.cpython-311.pyc",
        "webhook/main.py",
        "controller/main.py",
        "tests/test_all.py",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    return root


def test_the_name_has_the_version(checkout: Path) -> None:
    assert recipe.name_of("webhook", checkout) == "localhost/appwrapper-webhook:1.2.3"


def test_only_what_the_binary_needs_goes_in(checkout: Path) -> None:
    assert [str(path) for path in recipe.files("webhook", checkout)] == [
        "Dockerfile.webhook",
        "LICENSE",
        "requirements-webhook.lock",
        "shared/process/clock.py",
        "webhook/main.py",
    ]


def test_staged_files_have_the_hash_of_their_source(checkout: Path, tmp_path: Path) -> None:
    recipe.stage("controller", tmp_path / "context", checkout)
    assert recipe.content_hash("controller", tmp_path / "context") == recipe.content_hash(
        "controller", checkout
    )


@pytest.mark.parametrize(
    "name", ["Dockerfile.webhook", "shared/process/clock.py", "webhook/main.py"]
)
def test_every_change_changes_the_hash(checkout: Path, name: str) -> None:
    before = recipe.content_hash("webhook", checkout)
    (checkout / name).write_text("changed")
    assert recipe.content_hash("webhook", checkout) != before


def test_a_name_counts_as_well(checkout: Path) -> None:
    before = recipe.content_hash("webhook", checkout)
    clock = checkout / "shared" / "process" / "clock.py"
    clock.rename(clock.with_name("time.py"))
    assert recipe.content_hash("webhook", checkout) != before


@pytest.mark.parametrize(
    "name", ["controller/main.py", "tests/test_all.py", "shared/__pycache__/x"]
)
def test_omitted_files_do_not_change_the_hash(checkout: Path, name: str) -> None:
    before = recipe.content_hash("webhook", checkout)
    (checkout / name).write_text("changed")
    assert recipe.content_hash("webhook", checkout) == before


async def test_the_revision_is_the_last_commit_that_changed_the_image(checkout: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=checkout, check=True, capture_output=True, text=True
        ).stdout.strip()

    assert await recipe.revision("webhook", checkout) == ""
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all")
    first = git("rev-parse", "HEAD")
    (checkout / "controller" / "main.py").write_text("changed")
    git("commit", "-q", "-a", "-m", "the controller alone")
    assert await recipe.revision("webhook", checkout) == first
    assert await recipe.revision("controller", checkout) == git("rev-parse", "HEAD")
    (checkout / "shared" / "clock.py").write_text("changed")
    assert await recipe.revision("webhook", checkout) == f"{first}-modified"


async def test_without_git_there_is_no_revision(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert shutil.which("git") is None
    assert await recipe.revision("webhook", checkout) == ""
