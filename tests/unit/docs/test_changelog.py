"""The changelog: an entry is short, and the page that it links to has the details."""

import re

from tests.support.manifests import ROOT

LINES = 2
LONGEST = 160
_ENTRY = re.compile(r"^- .*(?:\n+ +.*)*", re.MULTILINE)


def test_each_entry_fits_two_lines() -> None:
    entries = _ENTRY.findall((ROOT / "CHANGELOG.md").read_text())
    assert entries, "no entry found"
    offenders = [
        entry
        for entry in entries
        if len(entry.splitlines()) > LINES
        or any(len(line) > LONGEST for line in entry.splitlines())
    ]
    assert offenders == []
