import io
import json
import tarfile
from pathlib import Path

from localcluster.images.image import unpacked_size


def tar_of(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        folder = tarfile.TarInfo("app")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def test_the_size_is_that_of_the_files_of_all_layers(tmp_path: Path) -> None:
    layers = {"a.tar": tar_of({"x": bytes(7_000), "y": bytes(100)}), "b.tar": tar_of({"z": b"12"})}
    manifest = json.dumps([{"Layers": list(layers)}]).encode()
    archive = tmp_path / "image.tar"
    archive.write_bytes(tar_of({**layers, "manifest.json": manifest}))
    assert unpacked_size(archive) == 7_102
