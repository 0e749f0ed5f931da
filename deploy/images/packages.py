"""The locked packages of a binary, installed with pip and trimmed to what a process needs."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.images import leave_out, tree
from deploy.images.runtime import Libraries

PLACE = Path("packages")
# Where the build's secrets are, if any were given (docs/install.md).
AUTHORITIES = Path("/run/secrets/ca-certificates")
_CACHE = Path("/pip-cache")


def collect(lock: Path, root: Path, runtime: Path) -> None:
    """Fills the folder `root` with what the lock file names; `runtime` is there already.

    Exits where pip fails, which has said why. Raises LibraryMissing.
    """
    with tempfile.TemporaryDirectory() as folder:
        _install(lock, Path(folder))
        tree.put_tree(Path(folder), root / PLACE, leave_out.of_packages)
    libraries = Libraries()
    needed = libraries.needed_below(root / PLACE)
    libraries.put(needed, root, but_not_in=root)
    for path in sorted(root.rglob("*.so*")):
        if (runtime / path.relative_to(root)).exists():
            path.unlink()
    tree.compile_all(root / PLACE, root)
    tree.settle(root)


def pip_environment(environment: dict[str, str], authorities: Path) -> dict[str, str]:
    """What pip is to know of the site: the build's own authorities, where it was given some."""
    if not authorities.is_file():
        return environment
    return environment | {"PIP_CERT": str(authorities)}


def _install(lock: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-deps"]
    command += ["--only-binary=:all:", "--no-compile", "--disable-pip-version-check"]
    command += ["--root-user-action=ignore", "--quiet", f"--cache-dir={_CACHE}"]
    command += ["--target", str(folder), "--requirement", str(lock)]
    environment = pip_environment(dict(os.environ), AUTHORITIES)
    installed = subprocess.run(command, env=environment, check=False)
    if installed.returncode != 0:
        sys.exit(
            f"error: pip could not install {lock.name}, see above. A package index of your own, its"
            " credentials and authorities go into the build as secrets: docs/install.md."
        )
