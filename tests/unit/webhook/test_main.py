"""Starting the webhook, as far as that goes without an API server."""

import logging
import socket
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from shared.config.configuration import CertManagement
from shared.process.sources import Sources
from tests.support.builders.certificates import self_signed
from tests.support.builders.kubeconfig import NOBODY_THERE
from tests.support.fakes.fake_kube import FakeKube
from webhook.gather.gatherer import Gatherer
from webhook.main import certificate_source, main, rules_that_deny
from webhook.tls.mounted_files import FileCertificateSource
from webhook.tls.self_managed import ManagedCertificateSource


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(NOBODY_THERE)
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("webhook.main.log_to", lambda **_: None)


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(
        "controllerManager:\n"
        "  webhook: {bindAddress: '127.0.0.1:9443', drainPeriod: 0s}\n"
        "  metrics: {bindAddress: '127.0.0.1:0'}\n"
    )
    return str(file)


def refusal(caplog: pytest.LogCaptureFixture, *arguments: str) -> str:
    """The last thing it says when it cannot start."""
    caplog.set_level(logging.INFO)
    assert main([*arguments, "--host", "127.0.0.1"]) == 1
    assert caplog.records[-1].levelname == "ERROR"
    return caplog.messages[-1]


def test_without_a_certificate_an_error_is_printed_and_the_exit_code_is_1(
    config: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flags = ["--config", config, "--cert-dir", str(tmp_path / "none"), "--port", "0"]
    assert refusal(caplog, *flags) == (
        f"the webhook cannot start: {tmp_path}/none/tls.crt cannot be read: No such file or "
        "directory; --cert-dir (or certManagement.certificateDir) names the folder with tls.crt "
        "and tls.key"
    )


def test_a_busy_port_is_named(config: str, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refusal(caplog, "--config", config, "--port", str(port)) == (
            f"the webhook cannot start: cannot listen on 127.0.0.1 port {port}: "
            "Address already in use"
        )


def test_a_busy_port_for_metrics_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = tmp_path / "config.yaml"
        file.write_text(f"controllerManager: {{metrics: {{bindAddress: '127.0.0.1:{port}'}}}}\n")
        assert refusal(caplog, "--config", str(file), "--port", "0") == (
            f"the webhook cannot start: cannot listen on 127.0.0.1 port {port}: "
            "Address already in use"
        )


def test_without_a_kubeconfig_the_searched_credentials_are_reported(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refusal(caplog, "--config", config, "--port", "0") == (
        "the webhook cannot start: there is no API server to talk to: KUBECONFIG is not set, "
        f"{tmp_path}/.kube/config does not exist, and this is no pod (KUBERNETES_SERVICE_HOST is "
        "not set). Set KUBECONFIG to a kubeconfig file"
    )


def test_a_kubeconfig_that_does_not_exist_is_named(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
    assert refusal(caplog, "--config", config, "--port", "0") == (
        f"the webhook cannot start: the kubeconfig {tmp_path}/gone does not exist; set KUBECONFIG "
        "to a file that does"
    )


def test_a_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for path, why in (
        (tmp_path / "gone", "no such file; --config names the configuration"),
        (tmp_path, "cannot be read: Is a directory"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["--config", str(path)])
        assert end.value.code == 2
        assert caplog.messages[-1] == f"the configuration cannot be used: {path}: {why}"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ([], 'bindAddress: "127.0.0.1:9443"  # CONFIG:2'),
        (["--port", "8443"], 'bindAddress: "127.0.0.1:8443"  # --port'),
        (["--host", "::1"], 'bindAddress: "[::1]:9443"  # --host'),
        (["--host", "", "--port", "0"], 'bindAddress: ":0"  # --host'),
        (["--cert-dir", "certs"], 'certificateDir: "certs"  # --cert-dir'),
        (["--cert-dir", "certs"], 'source: "Files"  # --cert-dir'),
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


def test_a_port_out_of_range_is_refused(config: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--config", config, "--port", "70000"])
    assert end.value.code == 2
    assert "must be host:port or :port, with a port from 0 to 65535" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("end", "why"),
    [("fails", "KeyError: 'broken'"), ("returns", "PartEnded: facts ended by itself")],
)
def test_a_background_task_that_ends_ends_the_process_with_a_log(
    end: str,
    why: str,
    config: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(_self: Gatherer) -> None:
        if end == "fails":
            raise KeyError("broken")

    monkeypatch.setattr(Gatherer, "run", run)
    assert refusal(caplog, "--config", config, "--port", "0") == (
        f"the webhook ends because a part of it failed: {why}"
    )
    assert caplog.records[-1].exc_text is None  # the last line is short
    assert caplog.records[-2].exc_text is not None
    assert caplog.records[-2].exc_text.endswith(why)


def test_every_rule_that_can_deny_is_shown_from_the_start_and_no_rule_that_only_warns() -> None:
    """Dashboards know them by these names."""
    assert rules_that_deny() == {
        "access",
        "allowed_kinds",
        "annotations",
        "component_annotations",
        "component_namespace",
        "components",
        "controller_owner",
        "depth",
        "direct_endings",
        "direct_kinds",
        "direct_owner",
        "direct_pod_labels",
        "direct_priority_classes",
        "direct_node_names",
        "direct_readable",
        "direct_runtime",
        "direct_uncounted",
        "direct_unknown_priority_classes",
        "immutability",
        "elastic_jobs",
        "names",
        "node_names",
        "nesting",
        "number_of_components",
        "object_size",
        "pod_labels",
        "pod_set_count",
        "pod_set_infos",
        "pod_set_paths",
        "pod_templates",
        "priority_classes",
        "queue_name",
        "train_jobs",
        "uncounted_pods",
        "uncounted_resources",
        "unknown_priority_classes",
    }


def test_it_prints_when_the_api_server_should_ask_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("appwrapper: {exemptions: {quotaManagers: [somebody]}}\n")
    assert main(["--config", str(file), "--print-registration"]) == 0
    mutating, validating, *policies = yaml.safe_load_all(capsys.readouterr().out)
    assert [mutating["kind"], validating["kind"]] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    assert "['somebody']" in validating["webhooks"][0]["matchConditions"][2]["expression"]
    assert {each["kind"] for each in policies} == {
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert "'somebody'" in policies[0]["spec"]["matchConditions"][0]["expression"]


async def test_certificates_are_self_managed_unless_they_come_from_files(tmp_path: Path) -> None:
    sources = Sources.of_the_machine()
    managed = certificate_source(FakeKube(), CertManagement(), sources)
    assert isinstance(managed, ManagedCertificateSource)
    certificate, key = self_signed(1, sources.clock.now(), sources.clock.now() + timedelta(days=1))
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    files = CertManagement(source="Files", certificate_dir=str(tmp_path))
    assert isinstance(certificate_source(FakeKube(), files, sources), FileCertificateSource)
