"""Read the manifests that a command line names: files, folders, standard input."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from cli.command import CommandError
from cli.manifests.manifest import Manifest, manifests_of
from cli.manifests.places import ManifestError

STANDARD_INPUT: Final = "-"
_SHOWN_INPUT: Final = "standard input"
# The files that are read from folders, as in kubectl.
_ENDINGS: Final = (".yaml", ".yml", ".json")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source that does not contain manifests."""

    source: str
    error: ManifestError

    def __str__(self) -> str:
        return self.error.located(self.source)


@dataclass(frozen=True, slots=True)
class ReadManifests:
    """The content of all sources. `files`: the files that were read, a redirected one included."""

    manifests: tuple[Manifest, ...]
    unreadable: tuple[Unreadable, ...]
    files: tuple[os.stat_result, ...]


def read(arguments: Sequence[str], stdin: TextIO) -> ReadManifests:
    """Read files, folders and - (standard input); without arguments, read piped standard input.

    Raises CommandError, and OSError for a file.
    """
    if not arguments and stdin.isatty():
        raise CommandError("no FILE is named. Name files or folders, or pipe manifests in")
    manifests: list[Manifest] = []
    unreadable: list[Unreadable] = []
    files: list[os.stat_result] = []
    for source, path in _sources(arguments or [STANDARD_INPUT]):
        try:
            manifests += manifests_of(_text(path, stdin), source)
        except ManifestError as error:
            unreadable.append(Unreadable(source, error))
        files += _redirected(stdin) if path is None else [path.stat()]
    return ReadManifests(tuple(manifests), tuple(unreadable), tuple(files))


def read_all(arguments: Sequence[str], stdin: TextIO) -> ReadManifests:
    """Like `read`, but an unreadable source raises CommandError too."""
    found = read(arguments, stdin)
    if found.unreadable:
        raise CommandError("\nerror: ".join(map(str, found.unreadable)))
    return found


def read_text(argument: str, stdin: TextIO) -> tuple[str, str]:
    """Return a file's name for messages, and its text. Raises CommandError, and OSError."""
    is_input = argument == STANDARD_INPUT
    source = _SHOWN_INPUT if is_input else argument
    try:
        return source, _text(None if is_input else Path(argument), stdin)
    except ManifestError as error:
        raise CommandError(error.located(source)) from error


def _sources(arguments: Iterable[str]) -> Iterator[tuple[str, Path | None]]:
    seen: set[Path] = set()
    for argument in arguments:
        if argument == STANDARD_INPUT:
            yield _SHOWN_INPUT, None
            continue
        named = Path(argument)
        found = list(_in_folder(named)) if named.is_dir() else [named]
        if not found:
            endings = ", ".join(f"*{each}" for each in _ENDINGS)
            raise CommandError(f"{argument}: this folder holds no manifest ({endings})")
        for path in found:
            if path.resolve() in seen:
                raise CommandError(f"{path} is named twice")
            seen.add(path.resolve())
            yield str(path), path


def _in_folder(folder: Path) -> Iterator[Path]:
    """Yield the manifests in the folder and in the folders below it, sorted by name.

    Hidden files and links to folders are ignored; such links may form a circle.
    """
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if path.is_symlink():
                continue
            yield from _in_folder(path)
        elif path.suffix.lower() in _ENDINGS:
            yield path


def _redirected(stdin: TextIO) -> list[os.stat_result]:
    """Return the file that a shell opened as standard input (`pack < job.yaml`)."""
    try:
        found = os.fstat(stdin.fileno())
    except (OSError, ValueError):  # the stream is not a file
        return []
    return [found] if stat.S_ISREG(found.st_mode) else []


def _text(path: Path | None, stdin: TextIO) -> str:
    """Read UTF-8, or UTF-16 if the text begins with its mark, as from Windows' shells."""
    buffer = getattr(stdin, "buffer", None)
    if path is not None:
        content = path.read_bytes()
    else:
        content = stdin.read().encode() if buffer is None else buffer.read()
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ManifestError(f"this is not UTF-8 text: {error.reason}") from error
