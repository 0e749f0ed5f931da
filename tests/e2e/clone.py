"""Somebody's clone of this repository, as it is now, and where they pull from."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.manifests import ROOT

_VIRTUAL_ENVIRONMENT = ROOT / ".venv"
# Equal content makes equal commits: images name theirs, and are not built again for another. So the
# clone has the history of this repository, too, and its first images are those of the other tests.
_DATES = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
_STAMP = ".installed"  # the Makefile's: all is installed that the lock file names


class Clone:
    """`folder` is the clone. What is published can be had with `git pull` there."""

    def __init__(self, below: Path) -> None:
        self._origin = below / "origin"
        self.folder = below / "clone"
        _git(below, "clone", "--quiet", "--no-checkout", str(ROOT), str(self._origin))
        _git(self._origin, "symbolic-ref", "HEAD", "refs/heads/main")
        _git(self._origin, "reset", "--quiet", _git(ROOT, "rev-parse", "HEAD").strip())
        listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            source, target = ROOT / name, self._origin / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target, follow_symlinks=False)
        if _git(self._origin, "status", "--porcelain"):
            self._commit("All there is")
        _git(below, "clone", "--quiet", str(self._origin), str(self.folder))
        self._share_what_is_installed()

    def publish(self, old: str, new: str, *files: str) -> None:
        """Replaces a text in files of the origin, each of which must have it, and commits that."""
        for name in files:
            file = self._origin / name
            text = file.read_text()
            assert old in text, f"{name} has no {old}"
            file.write_text(text.replace(old, new))
        self._commit(f"{new} instead of {old}")

    def _commit(self, message: str) -> None:
        _git(self._origin, "add", "--all")
        _git(self._origin, "commit", "--quiet", "--message", message)

    def _share_what_is_installed(self) -> None:
        """Their own installation would be the same, half a minute later."""
        folder = self.folder / _VIRTUAL_ENVIRONMENT.name
        folder.mkdir()
        for each in _VIRTUAL_ENVIRONMENT.iterdir():
            if each.name != _STAMP:
                (folder / each.name).symlink_to(each)
        (folder / _STAMP).touch()


def _git(folder: Path, *command: str) -> str:
    person = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    return subprocess.run(
        ("git", *person, "-c", "commit.gpgsign=false", *command),
        cwd=folder,
        env=os.environ | _DATES,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
