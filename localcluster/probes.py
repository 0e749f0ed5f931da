"""Asks a program whether it is ready: one request over HTTP, or one connection."""

import ssl

import aiohttp

from localcluster.certificates import KeyPair
from localcluster.machine.processes import Probe

_PATIENCE = aiohttp.ClientTimeout(total=2.0)


def trusting(authority: str, client: KeyPair | None = None) -> ssl.SSLContext:
    """A TLS context that trusts the certificate file `authority` and shows `client`'s one."""
    context = ssl.create_default_context(cafile=authority)
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context


def unverified() -> ssl.SSLContext:
    """For asking a program on the loopback interface that makes its own certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def http_ok(url: str, tls: ssl.SSLContext | None = None) -> Probe:
    """Ready when a GET of `url` answers 200."""

    async def ask() -> str | None:
        try:
            async with (
                aiohttp.ClientSession(timeout=_PATIENCE, trust_env=False) as session,
                session.get(url, ssl=tls or True) as response,
            ):
                if response.status == 200:
                    return None
                return f"GET {url} answers {response.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            return f"GET {url} fails: {failure or type(failure).__name__}"

    return ask
