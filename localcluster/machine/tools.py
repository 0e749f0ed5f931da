"""Finds the distribution's programs, and the packages of those that are missing."""

import os
import shutil
from collections.abc import Mapping, Sequence

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def system_path(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns PATH with the folders of root's programs, which cron and some `sudo` omit."""
    return {"PATH": ":".join(filter(None, (environment.get("PATH", ""), _SYSTEM_PATH)))}


def missing_programs(packages: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns the programs that are not installed, by package. `packages` has the same form."""
    path = system_path()["PATH"]
    found = {
        package: [each for each in programs if shutil.which(each, path=path) is None]
        for package, programs in packages.items()
    }
    return {package: programs for package, programs in found.items() if programs}


def how_to_install(missing: Mapping[str, Sequence[str]]) -> str:
    """Returns a sentence with the missing programs and the command that installs their packages."""
    programs = ", ".join(each for lacking in missing.values() for each in lacking)
    return (
        f"Programs are missing: {programs}. On Debian:"
        f" apt-get install --no-install-recommends {' '.join(missing)}"
    )
