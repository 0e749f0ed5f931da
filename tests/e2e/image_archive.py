"""Reads a docker-archive: an image's configuration, and the files of its layers."""

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

from shared.api.objects import JsonObject


@dataclass(frozen=True)
class ArchivedImage:
    """`layers` are the archive's own names for them, which are their digests."""

    path: Path
    tags: list[str]
    layers: list[str]
    configuration: JsonObject

    @classmethod
    def of(cls, path: Path) -> "ArchivedImage":
        with tarfile.open(path) as tar:
            manifest = tar.extractfile("manifest.json")
            assert manifest is not None
            [image] = json.load(manifest)
            configuration = tar.extractfile(image["Config"])
            assert configuration is not None
            return cls(path, image["RepoTags"], image["Layers"], json.load(configuration))

    def members(self) -> list[tarfile.TarInfo]:
        """Of all layers."""
        found: list[tarfile.TarInfo] = []
        with tarfile.open(self.path) as outer:
            for name in self.layers:
                with tarfile.open(fileobj=outer.extractfile(name)) as layer:
                    found += layer.getmembers()
        return found

    def extract(self, folder: Path) -> Path:
        """Writes the image's root file system, as a runtime would; returns the folder."""
        folder.mkdir(parents=True)
        with tarfile.open(self.path) as outer:
            for name in self.layers:
                with tarfile.open(fileobj=outer.extractfile(name)) as layer:
                    layer.extractall(folder, filter="fully_trusted")
        return folder
