"""Writes files as a kubelet mounts a ConfigMap, a Secret, or a ServiceAccount's token.

All change together: each name is a link into `..data`, a link to a folder that is replaced.
"""

import os
from collections.abc import Mapping
from pathlib import Path


class MountedVolume:
    """Files under `folder`, which is made if it is missing."""

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.folder = folder
        self._generation = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.replace(files)

    def replace(self, files: Mapping[str, bytes]) -> None:
        """Replaces all files by these, at the same moment."""
        self._generation += 1
        before = self.folder / f"..{self._generation - 1}"
        content = self.folder / f"..{self._generation}"
        content.mkdir()
        for name, text in files.items():
            (content / name).write_bytes(text)
        (self.folder / "..data_tmp").symlink_to(content.name)
        os.replace(self.folder / "..data_tmp", self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        for link in self.folder.iterdir():
            if not link.exists():
                link.unlink()
        if before.exists():
            for file in before.iterdir():
                file.unlink()
            before.rmdir()
