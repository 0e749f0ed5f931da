import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcluster.machine.files import replace, replace_private


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(("write", "mode"), [(replace, 0o644), (replace_private, 0o600)])
def test_a_file_is_replaced_for_all_or_for_this_user(
    tmp_path: Path, write: Callable[[Path, bytes], None], mode: int
) -> None:
    for content in (b"one", b"two"):
        write(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
