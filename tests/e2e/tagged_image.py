"""Gives an image archive another name: samples name images that cannot be pulled here."""

import io
import json
import tarfile
from pathlib import Path

_MANIFEST = "manifest.json"


def tagged(archive: Path, name: str, target: Path) -> Path:
    """Writes to `target` the docker-archive `archive` with its only image called `name`."""
    with tarfile.open(archive) as source, tarfile.open(target, "w") as copy:
        for member in source:
            if member.isdir() or member.islnk() or member.issym():
                copy.addfile(member)
                continue
            content = source.extractfile(member)
            assert content is not None, member.name
            if member.name != _MANIFEST:
                copy.addfile(member, content)
                continue
            [image] = json.load(content)
            changed = json.dumps([image | {"RepoTags": [name]}]).encode()
            member.size = len(changed)
            copy.addfile(member, io.BytesIO(changed))
    return target
