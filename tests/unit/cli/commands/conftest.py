from pathlib import Path

import pytest

from tests.support.builders.packed import JOB, SERVICE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with the Job in job.yaml and the Service in service.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "service.yaml").write_text(SERVICE)
    return tmp_path
