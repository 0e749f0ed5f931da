"""Since when a CA has been in every caBundle, as far as one process saw it. Pure bookkeeping."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from cryptography.x509 import Certificate

from webhook.tls.key_pair import certificates_in
from webhook.tls.view import Trust


class TrustTracker:
    """Fed with every look at the configurations."""

    def __init__(self) -> None:
        self._since: dict[Certificate, datetime] = {}
        self._from_start: frozenset[Certificate] | None = None

    def look(
        self, published: Sequence[bytes], concerned: Iterable[Certificate], now: datetime
    ) -> Trust:
        """`concerned` are the CAs that matter; others are forgotten."""
        bundles = [frozenset(certificates_in(one)) for one in published]
        carried = {one for one in concerned if all(one in bundle for bundle in bundles)}
        # A clock that was set back must not make a CA wait for longer than from now on.
        self._since = {one: min(self._since.get(one, now), now) for one in carried}
        if self._from_start is None:
            self._from_start = frozenset(carried)
        return Trust(dict(self._since), self._from_start)
