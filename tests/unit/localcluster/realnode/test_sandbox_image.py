import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import orjson

from localcluster.realnode.sandbox_image import NAME, write_archive


def contents(archive: Path | io.BytesIO) -> dict[str, bytes]:
    opened: dict[str, Any] = (
        {"fileobj": archive} if isinstance(archive, io.BytesIO) else {"name": archive}
    )
    with tarfile.open(**opened) as files:
        return {each.name: files.extractfile(each).read() for each in files}  # type: ignore[union-attr]


def test_the_image_is_the_program_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF and so on")
    write_archive(tmp_path / "program", tmp_path / "archive.tar")

    files = contents(tmp_path / "archive.tar")
    [manifest] = orjson.loads(files["manifest.json"])
    assert manifest == {"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}
    layer = files["layer.tar"]
    assert contents(io.BytesIO(layer)) == {"pause": b"\x7fELF and so on"}
    with tarfile.open(fileobj=io.BytesIO(layer)) as opened:
        assert opened.getmember("pause").mode == 0o755

    configuration = orjson.loads(files["config.json"])
    assert configuration["os"] == "linux"
    # An absolute path: there is no PATH in the image.
    assert configuration["config"] == {"Entrypoint": ["/pause"], "User": "65535:65535"}
    assert configuration["rootfs"] == {
        "type": "layers",
        "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
    }


def test_the_same_program_gives_the_same_image(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"x")
    archives = []
    for name in ("one.tar", "other.tar"):
        write_archive(tmp_path / "program", tmp_path / name)
        archives.append((tmp_path / name).read_bytes())
    assert archives[0] == archives[1]
