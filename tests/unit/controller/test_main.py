"""Starting the controller, as far as that goes without an API server."""

import logging
import socket
from pathlib import Path

import pytest

from controller.main import main
from tests.builders.kubeconfig import NOBODY_THERE


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(NOBODY_THERE)
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setattr("controller.main.log_to", lambda **_: None)


@pytest.mark.parametrize("taken", ["health", "metrics"])
def test_a_busy_port_is_said_in_a_sentence_after_what_is_configured(
    taken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ports = {"health": 0, "metrics": 0, taken: port}
        file = tmp_path / "config.yaml"
        file.write_text(
            "appwrapper: {schedulerName: gang}\n"
            "controllerManager:\n"
            f"  health: {{bindAddress: '127.0.0.1:{ports['health']}'}}\n"
            f"  metrics: {{bindAddress: '127.0.0.1:{ports['metrics']}'}}\n"
        )
        assert main(["--config", str(file)]) == 1
    configured, refused = caplog.messages
    assert configured.startswith("configuration, as far as it is not the default: {")
    assert "'appwrapper.schedulerName': 'gang'" in configured
    assert refused == (
        f"the controller cannot start: cannot listen on 127.0.0.1 port {port}: "
        "Address already in use"
    )
