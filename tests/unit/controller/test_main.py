"""Starting the controller, as far as that goes without an API server."""

import logging
import os
import signal
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_api_server_is_away_ends_it_at_once_and_well(
    number: signal.Signals, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits for the API server, and for nothing once it is asked to end."""
    caplog.set_level(logging.INFO)
    file = tmp_path / "config.yaml"
    addresses = "{health: {bindAddress: '0'}, metrics: {bindAddress: '0'}}"
    file.write_text(f"controllerManager: {addresses}")

    class Asking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("starting pods "):
                os.kill(os.getpid(), number)

    asking = Asking()
    before = signal.getsignal(number)
    logging.getLogger("shared.supervisor").addHandler(asking)
    try:
        assert main(["--config", str(file)]) == 0
    finally:
        logging.getLogger("shared.supervisor").removeHandler(asking)
        signal.signal(number, before)
    assert f"{number.name}: finishing what is running" in caplog.messages
    assert not any(record.levelno >= logging.ERROR for record in caplog.records)
