import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders.certificates import self_signed
from webhook.main import main


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "config.yaml"
    file.write_text("controllerManager: {webhook: {bindAddress: '127.0.0.1:9443'}}\n")
    return str(file)


@pytest.fixture
def certificates(tmp_path: Path) -> str:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate, key = self_signed(1, start, start + timedelta(days=1))
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    return str(tmp_path)


def test_without_a_certificate_it_says_so_and_exits_1(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, "--cert-dir", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"the webhook cannot start: {tmp_path}/none/tls.crt cannot be read: No such file or "
        "directory; --cert-dir (or certManagement.certificateDir) names the folder with tls.crt "
        "and tls.key"
    )


def test_a_busy_port_is_named(
    config: str, certificates: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--config", config, "--cert-dir", certificates, "--port", str(port)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"the webhook cannot start: cannot listen on 127.0.0.1 port {port}: Address already in use"
    )


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ([], 'bindAddress: "127.0.0.1:9443"  # CONFIG:1'),
        (["--port", "8443"], 'bindAddress: "127.0.0.1:8443"  # --port'),
        (["--host", "::1"], 'bindAddress: "[::1]:9443"  # --host'),
        (["--host", "", "--port", "0"], 'bindAddress: ":0"  # --host'),
        (["--cert-dir", "certs"], 'certificateDir: "certs"  # --cert-dir'),
    ],
)
def test_flags_override_the_file_and_show_as_origin(
    config: str, flags: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--config", config, "--print-config", *flags])
    assert end.value.code == 0
    printed = [text.strip() for text in capsys.readouterr().out.splitlines()]
    assert line.replace("CONFIG", config) in printed


def test_a_port_out_of_range_is_refused(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--config", config, "--port", "70000"])
    assert end.value.code == 2
    assert "must be host:port or :port, with a port from 0 to 65535" in capsys.readouterr().err
