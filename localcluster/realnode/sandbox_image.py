"""Writes the image of a pod's first container, which holds its network: one program, `pause`."""

import hashlib
import io
import platform
import tarfile
from pathlib import Path

import orjson

NAME = "localhost/appwrapper-pause:1"
_PROGRAM = "pause"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(
    program: Path, archive: Path, *, name: str = NAME, called: str = _PROGRAM
) -> None:
    """Writes a docker-archive of the image to `archive`, with only `program` in it.

    `program` is linked statically; in the image it is `/CALLED`.
    """
    layer = _tar({called: (program.read_bytes(), 0o755)})
    machine = platform.machine()
    configuration = orjson.dumps(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": {"Entrypoint": [f"/{called}"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            "history": [{"created_by": "localcluster"}],
        }
    )
    contents = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    archive.write_bytes(
        _tar(
            {
                "manifest.json": (orjson.dumps(contents), 0o644),
                "config.json": (configuration, 0o644),
                "layer.tar": (layer, 0o644),
            }
        )
    )


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Packs file name → content and mode; the same bytes for the same files."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
