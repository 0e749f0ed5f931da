"""The file that the Training Operator waits for at a fixed place comes and goes."""

from pathlib import Path

import pytest

from localcluster.installers import training_operator
from localcluster.machine.errors import LocalClusterError


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "k8s-webhook-server" / "serving-certs" / "tls.crt"
    monkeypatch.setattr(training_operator, "_MARKER", path)
    return path


def test_it_is_there_whenever_it_is_asked_for_and_leaves_nothing(marker: Path) -> None:
    training_operator._set_marker()
    training_operator._set_marker()
    assert marker.exists()
    training_operator._remove_marker()
    assert not marker.parent.parent.exists()
    training_operator._remove_marker()


def test_a_foreign_certificate_is_not_replaced(marker: Path) -> None:
    marker.parent.mkdir(parents=True)
    marker.write_text("a certificate")
    training_operator._set_marker()
    training_operator._remove_marker()
    assert marker.read_text() == "a certificate"


def test_a_place_that_cannot_be_written_is_named(marker: Path) -> None:
    marker.parent.parent.write_text("a file where a folder should be")
    with pytest.raises(LocalClusterError) as caught:
        training_operator._set_marker()
    assert str(caught.value) == (
        f"The Training Operator waits for a file {marker}, which cannot be written:"
        " Not a directory. Make that folder writable, or leave the component out."
    )
