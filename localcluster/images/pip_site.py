"""What this machine's pip knows of its site, as the build's secrets: index, proxy, authorities.

A build must reach the same package index as the person who starts it, but neither an address nor a
password of it may stay in an image. So they are handed in as files that no layer keeps.
"""

import ast
import os
from collections.abc import Mapping
from pathlib import Path

from localcluster.images.buildah import Secret

# pip's options that say where packages come from and how to get there.
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
    """Of `pip config list` (`global.index-url='...'`, `:env:.proxy='...'`): option → value.

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
    """A pip.conf with those that say where packages come from."""
    lines = ["[global]"]
    for key in _KEYS:
        if key in options:
            # A value of several lines goes on in indented ones.
            value = options[key].strip().replace("\n", "\n    ")
            lines.append(f"{key.removeprefix('default-')} = {value}")
    return "\n".join(lines) + "\n"


def authorities(options: Mapping[str, str], environment: Mapping[str, str]) -> Path | None:
    """The file of certificates that this machine trusts; None where none is found."""
    named = [options.get("cert"), environment.get("SSL_CERT_FILE"), str(_AUTHORITIES)]
    return next((Path(each) for each in named if each and Path(each).is_file()), None)


def secrets(listing: str, folder: Path) -> list[Secret]:
    """Writes pip.conf into `folder`, readable for nobody else. `listing` as for `parse`."""
    options = parse(listing)
    path = folder / "pip.conf"
    path.touch(mode=0o600)
    path.write_text(configuration(options))
    found = [Secret("pip-config", path)]
    trusted = authorities(options, os.environ)
    if trusted is not None:
        found.append(Secret("ca-certificates", trusted))
    return found
