"""Makes the TLS context of a client of the API server."""

import ssl

from shared.kube.errors import CannotConnect


def client_tls(
    *,
    authority: str | None,
    certificate: str | None,
    key: str | None,
    verify: bool,
    origin: str,
) -> ssl.SSLContext:
    """A client context from paths of PEM files.

    `authority` None trusts the machine's own authorities; `verify` False trusts anybody, as the
    kubeconfig's insecure-skip-tls-verify asks. `origin` names where the paths come from.
    Raises CannotConnect.
    """
    try:
        context = ssl.create_default_context(cafile=authority)
        if certificate:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise CannotConnect(f"the certificates of {origin} cannot be used: {error}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
