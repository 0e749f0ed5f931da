"""Performs TLS handshakes in memory, to read a server context's certificate."""

import ssl

from cryptography import x509

from localcluster.access.probes import unverified


def served_certificate(context: ssl.SSLContext, name: str | None = "webhook") -> x509.Certificate:
    """Returns the certificate for a client that verifies nothing; `name` None sends no SNI."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = unverified().wrap_bio(to_client, to_server, server_hostname=name)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    der = client.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)
