"""Find the API server and the client's identity: from a kubeconfig, or from the pod."""

import importlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shared.kube.client import CannotConnect
from shared.kube.credentials import (
    AuthorizationSource,
    ClientCertificates,
    FixedCredential,
    TlsFiles,
    TlsSource,
    TokenFile,
)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The user and groups of kubectl's --as and --as-group. The API server must allow them."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Credentials:
    """Settings of a connection to the API server.

    `server` is a URL without a final slash. `tls` holds no context for plain HTTP. If
    `tls_server_name` is set, TLS verifies it in place of the server's host name. `namespace` is the
    kubeconfig context's or the pod's own.
    """

    server: str
    tls: TlsSource
    authorization: AuthorizationSource
    namespace: str = "default"
    tls_server_name: str | None = None
    proxy: str | None = None
    impersonation: Impersonation | None = None


# The official `kubernetes` package reads kubeconfigs: contexts, merged files, inline and referenced
# certificates, exec plug-ins and OIDC. The package reads a `tokenFile` only once, so `TokenFile`
# replaces that part. The import costs 0.2 s and 43 MB (measured): processes in a pod skip it.


class LoaderAuthorization:
    """Read the header from the official package: exec plug-ins and OIDC, renewed at expiry."""

    def __init__(self, loader: Any, configuration: Any) -> None:
        self._loader = loader
        self._configuration = configuration

    def read(self, *, rejected: bool) -> str | None:
        try:
            if rejected:
                self._loader.load_and_set(self._configuration)
            # This call runs the package's own refresh if the expiry has passed.
            value = self._configuration.get_api_key_with_prefix("BearerToken")
        except Exception as error:
            raise CannotConnect(
                f"the kubeconfig's credentials cannot be renewed: {error}"
            ) from error
        return None if value is None else str(value)


def _from_kubeconfig(paths: str, name: str | None) -> Credentials:
    """Read a context of the kubeconfig at `paths` (one path, or several joined by ":").

    If `name` is None, read the current context. Raise CannotConnect with the file and its error.
    """
    package = _official_package(paths)
    tls: TlsSource = FixedCredential(None)
    # OpenSSL reads inline certificates only from files. The folder lives as long as this block, so
    # no private key remains on disk.
    with _temporary_folder(paths) as folder:
        try:
            merged, loader, configuration = _load(package, paths, folder, name)
            context = loader.current_context["context"]
        except CannotConnect:
            raise
        # The package raises nearly any exception for a malformed file, and a traceback would show
        # the file's whole text. Every exception is therefore caught, and its cause is cut off.
        except Exception as error:  # noqa: BLE001
            problem = _without_contents(error)
            raise CannotConnect(f"the kubeconfig {paths} cannot be used: {problem}") from None
        server = str(configuration.host).rstrip("/")
        if server.startswith("https"):
            tls = _tls(configuration, Path(folder), f"the kubeconfig {paths}")
    return Credentials(
        server=server,
        tls=tls,
        authorization=_authorization(merged, loader, configuration, context.get("user")),
        namespace=str(context.get("namespace") or "default"),
        tls_server_name=configuration.tls_server_name or None,
        proxy=configuration.proxy or None,
    )


def _temporary_folder(paths: str) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="kubeconfig-")
    except OSError as error:
        raise CannotConnect(
            f"the kubeconfig {paths} cannot be used: there is no folder for temporary files"
            f" ({error.strerror}); set TMPDIR to a folder that can be written to"
        ) from error


def _tls(configuration: Any, folder: Path, origin: str) -> TlsSource:
    """Make the source of TLS contexts: from files on disk, or from inline data, copied to `folder`.

    An inline authority beside a certificate in files is usual: a kubelet rotates its certificate.
    """
    paths = configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file
    certificates = ClientCertificates(
        origin=origin,
        authority=paths[0],
        certificate=paths[1],
        key=paths[2],
        verify=configuration.verify_ssl,
    )
    authority, *own = (path is not None and _is_in(folder, path) for path in paths)
    if any(own) or (authority and not certificates.certificate):
        return FixedCredential(certificates.context())
    if authority:
        text = Path(paths[0]).read_text()
        certificates = replace(certificates, authority=None, authority_text=text)
    return TlsFiles(certificates)


def _is_in(folder: Path, path: str) -> bool:
    return Path(path).is_relative_to(folder)


def _without_contents(error: Exception) -> str:
    """Return the package's message without the quoted entry of the file, which holds its token."""
    return str(error).partition("/{")[0]


def _official_package(paths: str) -> tuple[Any, Any]:
    """Import the package's modules for configurations and kubeconfigs. Raise CannotConnect."""
    # The package is marked as typed but has no types, so the result is Any.
    try:
        return (
            importlib.import_module("kubernetes.client"),
            importlib.import_module("kubernetes.config.kube_config"),
        )
    except ModuleNotFoundError as error:
        raise CannotConnect(
            f"the kubeconfig {paths} cannot be read: {error}; the images leave that package out,"
            " because a pod has its own credentials. Leave KUBECONFIG unset in a pod"
        ) from error


def _load(
    package: tuple[Any, Any], paths: str, folder: str, context: str | None
) -> tuple[Any, Any, Any]:
    """Return the merged file, its loader and the package's configuration object, filled."""
    client, kube_config = package
    existing = [path for path in paths.split(":") if path and Path(path).expanduser().is_file()]
    if not existing:
        raise CannotConnect(
            f"the kubeconfig {paths} does not exist; set KUBECONFIG to a file that does"
        )
    merged = kube_config.KubeConfigMerger(":".join(existing)).config
    if context is not None:
        names = [each["name"] for each in merged.safe_get("contexts") or ()]
        if context not in names:
            raise CannotConnect(
                f"the kubeconfig {paths} has no context {context}; it has"
                f" {', '.join(names) or 'none'}"
            )
    loader = kube_config.KubeConfigLoader(
        config_dict=merged,
        config_base_path=None,
        temp_file_path=folder,
        active_context=context,
    )
    # Not the package's process-wide default configuration, which other code may have changed.
    configuration = type.__call__(client.Configuration)
    # The environment's proxy does not apply: only the kubeconfig sets one.
    configuration.proxy = None
    loader.load_and_set(configuration)
    return merged, loader, configuration


def _authorization(
    merged: Any, loader: Any, configuration: Any, user: str | None
) -> AuthorizationSource:
    node = None
    if user is not None:
        node = merged["users"].get_with_name(user, safe=True)
    if node is not None and node["user"].safe_get("tokenFile"):
        # A tokenFile takes precedence over a token beside it, as in kubectl.
        return TokenFile(Path(node.path).parent / node["user"]["tokenFile"])
    # A plug-in that just failed left no token, but may return one next time.
    asks = node is not None and any(node["user"].safe_get(key) for key in ("exec", "auth-provider"))
    if not asks and "BearerToken" not in configuration.api_key:
        return FixedCredential(None)
    return LoaderAuthorization(loader, configuration)


# The kubelet mounts a ServiceAccount's credentials here; the path is part of the Kubernetes API.
SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_credentials(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    environment: Mapping[str, str] | None = None,
    service_account_folder: Path = SERVICE_ACCOUNT_FOLDER,
) -> Credentials:
    """Return the first of `kubeconfig`, $KUBECONFIG, the pod's own identity, ~/.kube/config.

    `context` names a context of a kubeconfig, so it excludes the pod's own identity. Raise
    CannotConnect if none exists or one is unusable.
    """
    env = os.environ if environment is None else environment
    named = kubeconfig or env.get("KUBECONFIG")
    if named:
        return _from_kubeconfig(named, context)
    if env.get("KUBERNETES_SERVICE_HOST") and context is None:
        return _from_pod(env, service_account_folder)
    # The user database may lack the user of a container, so only $HOME counts.
    home = Path(env["HOME"]) / ".kube" / "config" if env.get("HOME") else None
    if home is not None and home.is_file():
        return _from_kubeconfig(str(home), context)
    nothing_at_home = "HOME is not set" if home is None else f"{home} does not exist"
    raise CannotConnect(
        f"there is no API server to talk to: KUBECONFIG is not set, {nothing_at_home}, and "
        "this is no pod (KUBERNETES_SERVICE_HOST is not set). Set KUBECONFIG to a kubeconfig file"
    )


def _from_pod(env: Mapping[str, str], folder: Path) -> Credentials:
    """Read two variables and two files, without the official package.

    The package would reread the token at most once a minute, and costs 43 MB to import.
    """
    host, port = env["KUBERNETES_SERVICE_HOST"], env.get("KUBERNETES_SERVICE_PORT", "443")
    bracketed = f"[{host}]" if ":" in host else host
    token = TokenFile(folder / "token")
    token.read(rejected=False)  # report a missing token at start
    namespace = folder / "namespace"
    return Credentials(
        server=f"https://{bracketed}:{port}",
        tls=TlsFiles(
            ClientCertificates(
                origin=f"the pod's ServiceAccount ({folder})", authority=str(folder / "ca.crt")
            )
        ),
        authorization=token,
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
    )
