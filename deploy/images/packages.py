"""Installs the locked packages of a binary with pip and trims them to a process's needs."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.images import elf, leave_out, tree
from deploy.images.runtime import Libraries

PLACE = Path("packages")
# The folder of the build's secrets, if any were given (docs/admins/install.md).
AUTHORITIES = Path("/run/secrets/ca-certificates")
_CACHE = Path("/pip-cache")


def collect(lock: Path, root: Path, runtime: Path) -> None:
    """Fills the folder `root` with the packages of the lock file; `runtime` exists already.

    Exits if pip fails, after pip's own message. Raises LibraryMissing.
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
    for path in root.joinpath(PLACE).rglob("*.so*"):
        if elf.is_elf(path):
            path.write_bytes(elf.without_debugging(path.read_bytes()))
    tree.compile_all(root / PLACE, root)
    tree.settle(root)


def pip_environment(environment: dict[str, str], authorities: Path) -> dict[str, str]:
    """Returns pip's environment, with the build's own authorities if it has some."""
    if not authorities.is_file():
        return environment
    return environment | {"PIP_CERT": str(authorities)}


def _install(lock: Path, folder: Path) -> None:
    locked = ["--require-hashes", "--only-binary=:all:", "--requirement", str(lock)]
    from_cache = ["--no-index", f"--find-links={_CACHE}"]
    install = ["install", *from_cache, "--target", str(folder), "--no-compile", *locked]
    install += ["--root-user-action=ignore"]
    # pip requests the index only if the cache lacks something: builds often repeat.
    if _pip(install, may_fail=True):
        return
    if not (_pip(["download", "--dest", str(_CACHE), *locked]) and _pip(install)):
        sys.exit(
            f"error: pip could not install {lock.name}, see above. A package index of your own, its"
            " credentials and authorities go into the build as secrets: docs/admins/install.md."
        )


def _pip(arguments: list[str], *, may_fail: bool = False) -> bool:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    environment = pip_environment(dict(os.environ), AUTHORITIES)
    output = subprocess.DEVNULL if may_fail else None
    return subprocess.run(command, env=environment, stderr=output, check=False).returncode == 0
