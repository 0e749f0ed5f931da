"""Starting the controller, as far as that goes without an API server."""

import logging
import os
import signal
import socket
from pathlib import Path

import pytest

from controller.main import main
from shared.kube.connect import connect
from shared.kube.http_client import HttpKubeClient
from shared.kube.informer import Informer
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


@pytest.fixture
def silent(tmp_path: Path) -> str:
    """A configuration without listeners."""
    file = tmp_path / "config.yaml"
    addresses = "{health: {bindAddress: '0'}, metrics: {bindAddress: '0'}}"
    file.write_text(f"controllerManager: {addresses}")
    return str(file)


@pytest.mark.parametrize(
    ("end", "why"),
    [("fails", "KeyError: 'broken'"), ("returns", "PartEnded: pods ended by itself")],
)
def test_a_part_that_ends_ends_the_process_with_a_log(
    end: str,
    why: str,
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(_self: Informer[object]) -> None:
        if end == "fails":
            raise KeyError("broken")

    monkeypatch.setattr(Informer, "run", run)
    assert main(["--config", silent]) == 1
    before, last = caplog.records[-2:]
    assert (last.levelname, last.exc_text) == ("ERROR", None)
    assert last.getMessage() == f"the controller ends because a part of it failed: {why}"
    assert before.getMessage() == "the controller ends because a part of it failed"
    assert before.exc_text is not None
    assert before.exc_text.endswith(why)


def test_without_any_api_server_it_says_what_it_looked_for(
    silent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--config", silent]) == 1
    assert caplog.messages[-1] == (
        "the controller cannot start: there is no API server to talk to: KUBECONFIG is not set, "
        "HOME is not set, and this is no pod (KUBERNETES_SERVICE_HOST is not set). "
        "Set KUBECONFIG to a kubeconfig file"
    )


def test_a_bad_configuration_ends_it_with_2(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("appwrapper: {defaultQueName: q}")
    with pytest.raises(SystemExit) as end:
        main(["--config", str(file)])
    assert end.value.code == 2
    assert caplog.messages[-1] == (
        f"the configuration cannot be used: {file}:1: appwrapper.defaultQueName: "
        "Forbidden: unknown key; the nearest valid one is appwrapper.defaultQueueName"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_credentials_are_looked_for_is_not_forgotten(
    number: signal.Signals,
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def connect_slowly(**options: str) -> HttpKubeClient:
        os.kill(os.getpid(), number)
        return await connect(**options)

    monkeypatch.setattr("controller.main.connect", connect_slowly)
    before = signal.getsignal(number)
    try:
        assert main(["--config", silent]) == 0
    finally:
        signal.signal(number, before)
    assert f"{number.name}: finishing what is running" in caplog.messages
    assert caplog.messages[-1] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_api_server_is_away_ends_it_at_once_and_well(
    number: signal.Signals, silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits for the API server, and for nothing once it is asked to end."""
    caplog.set_level(logging.INFO)

    class Asking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("starting pods "):
                os.kill(os.getpid(), number)

    asking = Asking()
    before = signal.getsignal(number)
    logging.getLogger("shared.supervisor").addHandler(asking)
    try:
        assert main(["--config", silent]) == 0
    finally:
        logging.getLogger("shared.supervisor").removeHandler(asking)
        signal.signal(number, before)
    assert f"{number.name}: finishing what is running" in caplog.messages
    assert not any(record.levelno >= logging.ERROR for record in caplog.records)
