"""Lists the files that an image's Dockerfile copies, and hashes them."""

import hashlib
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from localcluster.machine.child import captured

ROOT = Path(__file__).resolve().parent.parent.parent
BINARIES = ("webhook", "controller")
# The controller reads error records with the recorder's own code.
ALSO = {"controller": ("worker",)}


def version(root: Path = ROOT) -> str:
    """Returns the product's version, which is the images' tag."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def name_of(binary: str, root: Path = ROOT) -> str:
    """Returns a name below `localhost/`: no cluster then pulls a foreign image of that name."""
    return f"localhost/appwrapper-{binary}:{version(root)}"


def dockerfile(binary: str) -> str:
    """Returns the file's name, in the repository's root."""
    return f"Dockerfile.{binary}"


def sources(binary: str) -> tuple[str, ...]:
    """Returns the folders of our own code that the image contains."""
    return ("shared", binary, *ALSO.get(binary, ()))


def paths(binary: str) -> tuple[str, ...]:
    """Returns the files and folders that the build reads."""
    return (
        dockerfile(binary),
        "LICENSE",
        f"requirements-{binary}.lock",
        *sources(binary),
    )


def files(binary: str, root: Path = ROOT) -> Iterator[Path]:
    """Yields all files of the build, relative to `root`, in order."""
    for name in paths(binary):
        path = root / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in found:
            if each.is_file() and "__pycache__" not in each.parts:
                yield each.relative_to(root)


def content_hash(binary: str, root: Path = ROOT) -> str:
    """Hashes the files' names and contents."""
    digest = hashlib.sha256()
    for relative in files(binary, root):
        content = (root / relative).read_bytes()
        digest.update(f"{relative} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def stage(binary: str, target: Path, root: Path = ROOT) -> None:
    """Copies the files: a user may edit meanwhile, and the built files must be the hashed ones."""
    for relative in files(binary, root):
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / relative, path)


async def revision(binary: str, root: Path = ROOT) -> str:
    """Returns the last commit that changed a file, `-modified` if one has changed since.

    Empty outside a git repository.
    """
    try:
        code, last = await captured(
            ("git", "log", "-1", "--format=%H", "--", *paths(binary)), folder=root
        )
        if code != 0:
            return ""
        _, changed = await captured(
            ("git", "status", "--porcelain", "--", *paths(binary)), folder=root
        )
    except FileNotFoundError:
        return ""
    return last.strip() + ("-modified" if changed.strip() else "")
