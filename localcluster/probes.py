"""Asks a program whether it is ready: one request over HTTP, or one connection."""

import asyncio
import ssl

import aiohttp

from localcluster.certificates import KeyPair
from localcluster.processes import Probe

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


def listens(port: int) -> Probe:
    """Ready when the port on 127.0.0.1 accepts a connection."""

    async def ask() -> str | None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as failure:
            return f"127.0.0.1:{port} does not accept connections: {failure}"
        writer.close()
        return None

    return ask


def all_of(*probes: Probe) -> Probe:
    """Ready when each of them is."""

    async def ask() -> str | None:
        for probe in probes:
            if (missing := await probe()) is not None:
                return missing
        return None

    return ask
