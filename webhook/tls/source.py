"""What serves the webhook's certificate, wherever it comes from."""

import ssl
from datetime import datetime
from typing import Protocol


class CertificateSource(Protocol):
    """How a process uses one:

    running = asyncio.create_task(source.run())
    await source.first_certificate()       # before listening: see there
    ... listen with source.context, ask source.problem() at every GET /readyz ...
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

    async def first_certificate(self) -> None:
        """Returns once there is a certificate that the API servers trust.

        A process that listens earlier takes connections from a replica that could serve them. Race
        it against the task of `run`, which ends only by a bug.
        """
        ...

    async def run(self) -> None:
        """Keeps the certificate good until cancelled. An API server that is away ends nothing."""
        ...
