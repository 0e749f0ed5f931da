"""Which API server, and who we are to it: from a kubeconfig, or from the pod we run in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.kube.errors import CannotConnect
from shared.kube.kubeconfig import KubeconfigContext
from shared.kube.tls import TlsFiles, TlsSource
from shared.kube.tokens import AuthorizationSource, TokenFile

# Where the kubelet mounts a ServiceAccount's credentials; part of the Kubernetes API.
SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to reach the API server.

    `server` is a URL without a final slash. `tls` holds no context for plain HTTP.
    `tls_server_name` is checked instead of the server's host name where it is set. `namespace` is
    the one that the kubeconfig's context or the pod stands in.
    """

    server: str
    tls: TlsSource
    authorization: AuthorizationSource
    namespace: str = "default"
    tls_server_name: str | None = None
    proxy: str | None = None


def load_credentials(
    kubeconfig: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    service_account_folder: Path = SERVICE_ACCOUNT_FOLDER,
) -> Credentials:
    """The first that there is: `kubeconfig`, $KUBECONFIG, the pod's own identity, ~/.kube/config.

    Raises CannotConnect, naming what was looked for.
    """
    env = os.environ if environment is None else environment
    named = kubeconfig or env.get("KUBECONFIG")
    if named:
        return _from_kubeconfig(named)
    if env.get("KUBERNETES_SERVICE_HOST"):
        return _from_pod(env, service_account_folder)
    # Not the home folder of the user database, which need not know the user of a container.
    home = Path(env["HOME"]) / ".kube" / "config" if env.get("HOME") else None
    if home is not None and home.is_file():
        return _from_kubeconfig(str(home))
    nothing_at_home = "HOME is not set" if home is None else f"{home} does not exist"
    raise CannotConnect(
        f"there is no API server to talk to: KUBECONFIG is not set, {nothing_at_home}, and "
        "this is no pod (KUBERNETES_SERVICE_HOST is not set). Set KUBECONFIG to a kubeconfig file"
    )


def _from_kubeconfig(paths: str) -> Credentials:
    context = KubeconfigContext(paths)
    return Credentials(
        server=context.server,
        tls=context.tls,
        authorization=context.authorization,
        namespace=context.namespace,
        tls_server_name=context.tls_server_name,
        proxy=context.proxy,
    )


def _from_pod(env: Mapping[str, str], folder: Path) -> Credentials:
    """Two variables and two files: by hand, because the official package would read the token
    at most once a minute and costs 43 MB to import."""
    host, port = env["KUBERNETES_SERVICE_HOST"], env.get("KUBERNETES_SERVICE_PORT", "443")
    bracketed = f"[{host}]" if ":" in host else host
    token = TokenFile(folder / "token")
    token.read(rejected=False)  # a missing token is better said at start
    namespace = folder / "namespace"
    return Credentials(
        server=f"https://{bracketed}:{port}",
        tls=TlsFiles(
            authority=str(folder / "ca.crt"),
            certificate=None,
            key=None,
            verify=True,
            origin=f"the pod's ServiceAccount ({folder})",
        ),
        authorization=token,
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
    )
