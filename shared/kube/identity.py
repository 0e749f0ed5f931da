"""Who we are to the API server at this moment: a header, a client certificate, or both."""

import ssl
from dataclasses import dataclass

from shared.kube.tls import RenewedTls
from shared.kube.tokens import RenewedAuthorization


@dataclass(frozen=True, slots=True)
class Identity:
    """`authorization` is the header's value, None for none. `tls` is None for plain HTTP.

    Equal ones are the same credentials: a context that was read again is another one.
    """

    authorization: str | None
    tls: ssl.SSLContext | None


class RenewedIdentity:
    """Both parts, each read again when it may have changed."""

    def __init__(self, authorization: RenewedAuthorization, tls: RenewedTls) -> None:
        self._authorization = authorization
        self._tls = tls

    async def current(self) -> Identity:
        """Raises CannotConnect."""
        return Identity(await self._authorization.current(), await self._tls.current())

    async def after_rejection(self, rejected: Identity) -> Identity:
        """What to try next when the server answered 401; equal means that there is nothing new.

        Raises CannotConnect.
        """
        return Identity(
            await self._authorization.after_rejection(rejected.authorization),
            await self._tls.after_rejection(rejected.tls),
        )
