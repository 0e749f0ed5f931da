import base64
import datetime
import os
import ssl
import sys
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shared.kube.client import CannotConnect
from shared.kube.kubeconfig import Credentials, load_credentials
from tests.support.builders.certificates import self_signed
from tests.support.mounted_volume import MountedVolume


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(pem), private


def kubeconfig(folder: Path, cluster: dict[str, object], user: dict[str, object]) -> Path:
    path = folder / "config"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team1"}}
        ],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


PLAIN: dict[str, object] = {"server": "http://127.0.0.1:1/"}


def loaded(path: Path) -> Credentials:
    return load_credentials(str(path), environment={})


def test_a_plain_server(tmp_path: Path) -> None:
    credentials = loaded(kubeconfig(tmp_path, PLAIN, {}))
    assert credentials.server == "http://127.0.0.1:1"
    assert credentials.namespace == "team1"
    assert credentials.tls.read(rejected=False) is None
    assert credentials.authorization.read(rejected=False) is None


def test_a_token_in_the_file(tmp_path: Path) -> None:
    credentials = loaded(kubeconfig(tmp_path, PLAIN, {"token": "abc"}))
    assert credentials.authorization.read(rejected=False) == "Bearer abc"


def test_a_user_and_a_password(tmp_path: Path) -> None:
    credentials = loaded(kubeconfig(tmp_path, PLAIN, {"username": "a", "password": "b"}))
    assert credentials.authorization.read(rejected=False) == "Basic YTpi"


def test_a_token_file_is_found_beside_the_kubeconfig_and_read_each_time(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    user: dict[str, object] = {"tokenFile": "token", "token": "stale"}
    credentials = loaded(kubeconfig(tmp_path, PLAIN, user))
    assert credentials.authorization.read(rejected=False) == "Bearer one"
    (tmp_path / "token").write_text("two")
    assert credentials.authorization.read(rejected=False) == "Bearer two"


def test_an_exec_plugin_is_asked_again_after_a_rejection(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    script = tmp_path / "plugin.py"
    script.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(counter)!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',\n"
        "  'kind': 'ExecCredential', 'status': {'token': f'token-{number}'}}))\n"
    )
    user: dict[str, object] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-S", str(script)],
        }
    }
    credentials = loaded(kubeconfig(tmp_path, PLAIN, user))
    assert credentials.authorization.read(rejected=False) == "Bearer token-1"
    assert credentials.authorization.read(rejected=True) == "Bearer token-2"


def test_inline_certificates_leave_no_key_behind(
    tmp_path: Path, pair: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    certificate, key = (base64.b64encode(part).decode() for part in pair)
    cluster: dict[str, object] = {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": certificate,
        "tls-server-name": "kubernetes",
    }
    user: dict[str, object] = {"client-certificate-data": certificate, "client-key-data": key}
    path = kubeconfig(tmp_path, cluster, user)
    for _ in range(2):  # the official package remembers files it wrote; they are gone by then
        credentials = loaded(path)
        context = credentials.tls.read(rejected=False)
        assert context is not None
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert [found["serialNumber"] for found in context.get_ca_certs()] == ["01"]
        assert credentials.tls_server_name == "kubernetes"
        assert list(scratch.iterdir()) == []


def test_verification_is_off_only_when_asked_for(tmp_path: Path) -> None:
    cluster: dict[str, object] = {
        "server": "https://127.0.0.1:1",
        "insecure-skip-tls-verify": True,
    }
    credentials = loaded(kubeconfig(tmp_path, cluster, {}))
    context = credentials.tls.read(rejected=False)
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE


def test_a_certificate_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("not a certificate")
    cluster: dict[str, object] = {"server": "https://h", "certificate-authority": "ca"}
    path = kubeconfig(tmp_path, cluster, {})
    with pytest.raises(CannotConnect) as raised:
        loaded(path)
    assert str(raised.value).startswith(
        f"the certificates of the kubeconfig {path} cannot be used: "
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("a: [", "while parsing"),
        ("kind: Config", "Expected key current-context"),
        ("[1]", ""),
    ],
)
def test_an_unusable_kubeconfig_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CannotConnect) as raised:
        loaded(path)
    assert str(raised.value).startswith(f"the kubeconfig {path} cannot be used: ")
    assert message in str(raised.value)


def test_the_error_of_a_user_does_not_contain_the_token(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, PLAIN, {})
    path.write_text(path.read_text().replace("user: {}", "usr: {token: abc123}"))
    with pytest.raises(CannotConnect) as raised:
        loaded(path)
    assert str(raised.value) == (
        f"the kubeconfig {path} cannot be used: "
        f"Invalid kube-config file. Expected key user in {path}"
    )
    assert raised.value.__cause__ is None


def test_a_kubeconfig_that_is_not_there_is_named() -> None:
    with pytest.raises(CannotConnect) as raised:
        load_credentials(environment={"KUBECONFIG": "/none/config"})
    assert str(raised.value) == (
        "the kubeconfig /none/config does not exist; set KUBECONFIG to a file that does"
    )


def test_nothing_to_talk_to(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect) as raised:
        load_credentials(environment={"HOME": str(tmp_path)})
    assert str(raised.value) == (
        "there is no API server to talk to: KUBECONFIG is not set, "
        f"{tmp_path}/.kube/config does not exist, and this is no pod "
        "(KUBERNETES_SERVICE_HOST is not set). Set KUBECONFIG to a kubeconfig file"
    )


def test_nothing_to_talk_to_and_no_home() -> None:
    """A container's user need not be in the user database, which would know a home folder."""
    with pytest.raises(CannotConnect) as raised:
        load_credentials(environment={})
    assert str(raised.value) == (
        "there is no API server to talk to: KUBECONFIG is not set, HOME is not set, and this is no "
        "pod (KUBERNETES_SERVICE_HOST is not set). Set KUBECONFIG to a kubeconfig file"
    )


def test_a_kubeconfig_where_the_package_that_reads_it_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the images."""
    path = kubeconfig(tmp_path, PLAIN, {})
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    with pytest.raises(CannotConnect) as raised:
        loaded(path)
    assert str(raised.value) == (
        f"the kubeconfig {path} cannot be read: import of kubernetes.client halted; None in "
        "sys.modules; the images leave that package out, because a pod has its own credentials. "
        "Leave KUBECONFIG unset in a pod"
    )


def test_a_kubeconfig_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kubeconfig(tmp_path, PLAIN, {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(CannotConnect) as raised:
        loaded(path)
    assert str(raised.value) == (
        f"the kubeconfig {path} cannot be used: there is no folder for temporary files (No such "
        "file or directory); set TMPDIR to a folder that can be written to"
    )


def test_the_user_s_own_kubeconfig_comes_last(tmp_path: Path) -> None:
    folder = tmp_path / ".kube"
    folder.mkdir()
    kubeconfig(folder, PLAIN, {"token": "home"})
    credentials = load_credentials(environment={"HOME": str(tmp_path)})
    assert credentials.authorization.read(rejected=False) == "Bearer home"


def test_the_kubeconfig_variable_wins_over_the_pod(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, PLAIN, {"token": "abc"})
    environment = {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert load_credentials(environment=environment).server == "http://127.0.0.1:1"


def test_in_a_pod(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    (tmp_path / "ca.crt").write_bytes(pair[0])
    (tmp_path / "token").write_text("one")
    (tmp_path / "namespace").write_text("appwrapper-system")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    credentials = load_credentials(environment=environment, service_account_folder=tmp_path)
    assert credentials.server == "https://[fd00::1]:6443"
    assert credentials.namespace == "appwrapper-system"
    assert credentials.authorization.read(rejected=False) == "Bearer one"
    # The kubelet replaces the file as a whole.
    (tmp_path / "next").write_text("two")
    os.replace(tmp_path / "next", tmp_path / "token")
    assert credentials.authorization.read(rejected=False) == "Bearer two"


def test_a_pods_token_and_authority_are_replaced_by_a_symbolic_link(
    tmp_path: Path, pair: tuple[bytes, bytes]
) -> None:
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    later, _ = self_signed(2, start, start + datetime.timedelta(days=36500))
    files = {"token": b"one", "ca.crt": pair[0], "namespace": b"appwrapper-system"}
    mounted = MountedVolume(tmp_path, files)
    credentials = load_credentials(
        environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account_folder=tmp_path
    )
    assert credentials.server == "https://10.0.0.1:443"
    assert credentials.namespace == "appwrapper-system"
    first = credentials.tls.read(rejected=False)
    assert first is not None
    mounted.replace(files | {"token": b"two"})
    assert credentials.authorization.read(rejected=False) == "Bearer two"
    mounted.replace(files | {"token": b"three", "ca.crt": later})
    second = credentials.tls.read(rejected=False)
    assert second is not None
    assert second is not first
    assert [found["serialNumber"] for found in second.get_ca_certs()] == ["02"]
    assert [found["serialNumber"] for found in first.get_ca_certs()] == ["01"]


def test_a_pod_without_an_authority_cannot_connect(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    with pytest.raises(CannotConnect) as raised:
        load_credentials(
            environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account_folder=tmp_path
        )
    assert str(raised.value) == (
        f"the certificates of the pod's ServiceAccount ({tmp_path}) cannot be used: "
        f"{tmp_path}/ca.crt cannot be read"
    )


def test_a_pod_without_a_token_cannot_connect(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match=r"token file .* cannot be read"):
        load_credentials(
            environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account_folder=tmp_path
        )


def test_certificates_in_files_are_read_again_when_they_are_replaced(
    tmp_path: Path, pair: tuple[bytes, bytes]
) -> None:
    """As where a kubelet rotates them: the authority is in the kubeconfig itself."""
    for name, text in zip(("client.crt", "client.key"), pair, strict=True):
        (tmp_path / name).write_bytes(text)
    cluster: dict[str, object] = {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": base64.b64encode(pair[0]).decode(),
    }
    user: dict[str, object] = {"client-certificate": "client.crt", "client-key": "client.key"}
    tls = loaded(kubeconfig(tmp_path, cluster, user)).tls
    first = tls.read(rejected=False)
    assert first is not None
    assert [found["serialNumber"] for found in first.get_ca_certs()] == ["01"]
    assert tls.read(rejected=False) is first
    (tmp_path / "next").write_bytes(pair[0])
    os.replace(tmp_path / "next", tmp_path / "client.crt")
    second = tls.read(rejected=False)
    assert second is not first
    assert second is not None
    assert [found["serialNumber"] for found in second.get_ca_certs()] == ["01"]


def test_an_exec_plugin_that_failed_at_start_is_asked_again(tmp_path: Path) -> None:
    script = tmp_path / "plugin.py"
    script.write_text("raise SystemExit(1)")
    user: dict[str, object] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-S", str(script)],
        }
    }
    credentials = loaded(kubeconfig(tmp_path, PLAIN, user))
    assert credentials.authorization.read(rejected=False) is None
    script.write_text(
        'print(\'{"apiVersion": "client.authentication.k8s.io/v1", '
        '"kind": "ExecCredential", "status": {"token": "late"}}\')'
    )
    assert credentials.authorization.read(rejected=True) == "Bearer late"


def two_contexts(folder: Path) -> Path:
    path = kubeconfig(folder, {"server": "http://here.example"}, {"token": "t"})
    document = yaml.safe_load(path.read_text())
    document["clusters"].append({"name": "d", "cluster": {"server": "http://there.example"}})
    document["contexts"].append({"name": "there", "context": {"cluster": "d", "user": "u"}})
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_context_is_taken_instead_of_the_current_one(tmp_path: Path) -> None:
    path = str(two_contexts(tmp_path))
    found = [load_credentials(path, context=name, environment={}) for name in (None, "there")]
    assert [(each.server, each.namespace) for each in found] == [
        ("http://here.example", "team1"),
        ("http://there.example", "default"),
    ]


def test_with_a_context_a_pod_reads_a_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    two_contexts(tmp_path / ".kube")
    environment = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    found = load_credentials(context="there", environment=environment)
    assert found.server == "http://there.example"


def test_a_context_that_there_is_not_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    path = two_contexts(tmp_path)
    with pytest.raises(CannotConnect) as raised:
        load_credentials(str(path), context="nowhere", environment={})
    assert str(raised.value) == (
        f"the kubeconfig {path} has no context nowhere; it has here, there"
    )
