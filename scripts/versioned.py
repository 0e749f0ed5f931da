"""Writes the project's version, which pyproject.toml has, into the files that repeat it."""

import re
from pathlib import Path
from typing import Final

from localcluster.images.recipe import BINARIES, dockerfile, version
from scripts.pages import REPOSITORY

_IMAGE: Final = r"(appwrapper-(?:webhook|controller):)\d[\w.]*"
_FILES: Final = {
    **{dockerfile(each): r"(ARG VERSION=)\S+" for each in BINARIES},
    **{f"deploy/manifests/base/{each}/deployment.yaml": _IMAGE for each in BINARIES},
    "deploy/chart/Chart.yaml": r"(?m)^((?:appV|v)ersion: )\S+",
    "docs/admins/error-stores.md": _IMAGE,
    "docs/admins/install.md": _IMAGE,
    "docs/admins/local-cluster.md": _IMAGE,
}


def versioned_files() -> dict[Path, str]:
    """Return the content of each file. Raise ValueError if one no longer has the version."""
    found = {}
    for name, pattern in _FILES.items():
        file = REPOSITORY / name
        text, count = re.subn(pattern, rf"\g<1>{version()}", file.read_text())
        if not count:
            raise ValueError(f"{name} does not name the version")
        found[file] = text
    return found
