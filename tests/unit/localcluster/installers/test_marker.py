"""The Training Operator's file exists while it starts, and nothing of others is touched."""

from pathlib import Path

import pytest

from localcluster.installers.marker import remove_marker, set_marker
from localcluster.machine.errors import LocalClusterError


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "k8s-webhook-server" / "serving-certs" / "tls.crt"


def test_the_marker_exists_after_each_request_and_leaves_nothing(marker: Path) -> None:
    set_marker(marker)
    set_marker(marker)
    assert marker.exists()
    remove_marker(marker)
    assert not marker.parent.parent.exists()
    remove_marker(marker)


def test_a_foreign_certificate_is_not_replaced(marker: Path) -> None:
    marker.parent.mkdir(parents=True)
    marker.write_text("a certificate")
    set_marker(marker)
    remove_marker(marker)
    assert marker.read_text() == "a certificate"


def test_a_folder_that_another_cluster_removes_meanwhile_is_made_by_the_next_request(
    marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Path, "mkdir", lambda *_, **__: None)
        set_marker(marker)
    set_marker(marker)
    assert marker.exists()


def test_a_place_that_cannot_be_written_is_named(marker: Path) -> None:
    marker.parent.parent.write_text("a file where a folder should be")
    with pytest.raises(LocalClusterError) as caught:
        set_marker(marker)
    assert str(caught.value) == (
        f"The Training Operator waits for a file {marker}, which cannot be written:"
        " Not a directory. Make that folder writable, or leave the component out."
    )
