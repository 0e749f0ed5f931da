"""Hands this machine's pip settings to the build as secrets: index, proxy, authorities.

A build must reach the same package index as the user who starts it. But no image may keep that
index's address or password. So the settings are files that no layer keeps.
"""

import ast
import os
from collections.abc import Mapping
from pathlib import Path

from localcluster.images.buildah import Secret

# pip's options about the source of packages and the way to it.
_KEYS = (
    "index-url",
    "extra-index-url",
    "no-index",
    "trusted-host",
    "proxy",
    "timeout",
    "default-timeout",
    "retries",
)
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


def parse(listing: str) -> dict[str, str]:
    """Parses `pip config list` (`global.index-url='...'`, `:env:.proxy='...'`): option → value.

    Later lines win, as they do for pip: the environment comes last.
    """
    found: dict[str, str] = {}
    for line in listing.splitlines():
        name, separator, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if separator and section in ("global", "install", ":env:"):
            found[option] = str(ast.literal_eval(value))
    return found


def configuration(options: Mapping[str, str]) -> str:
    """Returns a pip.conf with the options in `_KEYS`."""
    lines = ["[global]"]
    for key in _KEYS:
        if key in options:
            # A value of several lines continues on indented lines.
            value = options[key].strip().replace("\n", "\n    ")
            lines.append(f"{key.removeprefix('default-')} = {value}")
    return "\n".join(lines) + "\n"


def authorities(options: Mapping[str, str], environment: Mapping[str, str]) -> Path | None:
    """Returns the file of certificates that this machine trusts; None if there is none."""
    named = [options.get("cert"), environment.get("SSL_CERT_FILE"), str(_AUTHORITIES)]
    return next((Path(each) for each in named if each and Path(each).is_file()), None)


def secrets(listing: str, folder: Path) -> list[Secret]:
    """Writes pip.conf into `folder`, readable by this user only. `listing` as for `parse`."""
    options = parse(listing)
    path = folder / "pip.conf"
    path.touch(mode=0o600)
    path.write_text(configuration(options))
    found = [Secret("pip-config", path)]
    trusted = authorities(options, os.environ)
    if trusted is not None:
        found.append(Secret("ca-certificates", trusted))
    return found
