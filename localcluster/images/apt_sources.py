"""Reads the archives of this machine's own packages from apt's sources, in both of their
formats.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.errors import ToolMissing

_FOLDER = Path("/etc/apt")
_KEYRINGS = Path("/usr/share/keyrings")
# Debian's cloud images name a file with a mirror per line; the first is the nearest.
_MIRRORS = "mirror+file:"
_ONE_LINE = re.compile(r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<rest>.+)$")


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of packages. `keyring` is the file that signs it, if the source names one."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    keyring: Path | None = None


def parse_one_line(text: str) -> Iterator[Archive]:
    """Parses a `.list` file: `deb [signed-by=FILE] URI SUITE COMPONENT...`."""
    for line in text.splitlines():
        match = _ONE_LINE.match(line.partition("#")[0].strip())
        if match:
            suite, *components = match["rest"].split()
            options = dict(
                option.split("=", 1) for option in (match["options"] or "").split() if "=" in option
            )
            keyring = options.get("signed-by", "")
            yield Archive(match["uri"], (suite,), tuple(components), _file(keyring))


def parse_deb822(text: str) -> Iterator[Archive]:
    """Parses a `.sources` file: paragraphs of `Key: value`, with continued lines."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if line[0].isspace():
                fields[name] = f"{fields.get(name, '')} {line.strip()}"
            else:
                key, _, value = line.partition(":")
                name = key.strip().lower()
                fields[name] = value.strip()
        if (
            fields.get("enabled", "yes").lower() != "yes"
            or "deb" not in fields.get("types", "").split()
        ):
            continue
        suites, components = fields.get("suites", "").split(), fields.get("components", "").split()
        for uri in fields.get("uris", "").split():
            yield Archive(uri, tuple(suites), tuple(components), _file(fields.get("signed-by", "")))


def archive_of(codename: str, folder: Path = _FOLDER, keyrings: Path = _KEYRINGS) -> Archive:
    """Returns the archive of the release itself, with a keyring. Raises ToolMissing."""
    for archive in _all(folder):
        if codename in archive.suites and "main" in archive.components:
            keyring = archive.keyring or _usual_keyring(keyrings)
            if keyring is None:
                raise ToolMissing(
                    f"apt's source {archive.uri} names no keyring file (signed-by), and {keyrings}"
                    " has none of the distribution. On Debian: apt-get install"
                    " debian-archive-keyring"
                )
            return Archive(_mirror(archive.uri), archive.suites, archive.components, keyring)
    raise ToolMissing(
        f"No source of apt in {folder} has the release {codename or '(of no name)'} with its"
        " component main. A base image's stand-in is made from it; name an image instead"
        " (--base-image)."
    )


def _mirror(uri: str) -> str:
    """Returns the first mirror if the URI names a file of mirrors. Raises ToolMissing."""
    if not uri.startswith(_MIRRORS):
        return uri
    path = Path("/" + uri.removeprefix(_MIRRORS).lstrip("/"))
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            return line.split()[0]
    raise ToolMissing(f"apt's source {uri} names no mirror: {path} is not there, or is empty.")


def _all(folder: Path) -> Iterator[Archive]:
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    for path in files:
        if path.suffix in (".list", ".sources") and path.is_file():
            parse = parse_deb822 if path.suffix == ".sources" else parse_one_line
            yield from parse(path.read_text(encoding="utf-8", errors="replace"))


def _usual_keyring(folder: Path) -> Path | None:
    for name in ("debian-archive-keyring", "ubuntu-archive-keyring"):
        for suffix in (".gpg", ".pgp"):
            path = folder / f"{name}{suffix}"
            if path.is_file():
                return path
    return None


def _file(value: str) -> Path | None:
    """Returns None for a fingerprint or a key in Signed-By: the usual keyring is used then."""
    return Path(value) if value.startswith("/") and " " not in value else None
