"""Extracts the commands from a documentation page."""

import re
from pathlib import Path

from tests.support.manifests import ROOT

_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^```\n\$ (.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_in(page: str) -> list[str]:
    """Returns every line of its `sh` blocks."""
    blocks = _SHELL.findall(_text(page))
    return [line for block in blocks for line in block.splitlines() if line]


def sessions_in(page: str) -> list[tuple[str, str]]:
    """Returns every command after a $, with its output."""
    return _SESSION.findall(_text(page))


def _text(page: str) -> str:
    return (ROOT / Path("docs") / page).read_text(encoding="utf-8")
