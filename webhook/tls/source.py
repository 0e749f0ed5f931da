"""What serves the webhook's certificate, wherever it comes from."""

import ssl
from datetime import datetime
from typing import Protocol


class CertificateSource(Protocol):
    """How a process uses one:

    running = asyncio.create_task(source.run())
    ... until source.problem() is None: a process that listens earlier takes connections from a
        replica that could serve them; then listen with source.context ...
    running.cancel()
    """

    @property
    def context(self) -> ssl.SSLContext:
        """The context to listen with. Each handshake moves on to the newest certificate."""
        ...

    @property
    def not_after(self) -> datetime | None:
        """When the served certificate expires; None while there is none. For a metric."""
        ...

    def problem(self) -> str | None:
        """Why clients will not accept what is served; None when they will. Readiness."""
        ...

    def warning(self) -> str | None:
        """What an admin should put right although serving goes on; None when all is well.

        It is no reason to be not ready: without an endpoint every request would be refused.
        """
        ...

    async def run(self) -> None:
        """Keeps the certificate good until cancelled. An API server that is away ends nothing."""
        ...
