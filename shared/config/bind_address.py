"""Where a process listens: `host:port`, `:port`, `[::1]:port`; `0` or nothing means nowhere."""

import re
from typing import Final, NamedTuple

_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\s\[\]]*):(?P<port>[0-9]{1,5})")


class BindAddressError(ValueError):
    """A text that is no bind address."""


class BindAddress(NamedTuple):
    """`host` is empty for every address; port 0 lets the system choose."""

    host: str
    port: int


def parse_bind_address(text: str) -> BindAddress | None:
    """None for `0` or nothing, which switch a listener off. Raises BindAddressError."""
    if text in ("", "0"):
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise BindAddressError("must be host:port or :port, with a port from 0 to 65535")
    return BindAddress(match["host"].strip("[]"), int(match["port"]))
