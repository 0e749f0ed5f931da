"""Read the recorder's environment, and add its variables to the command's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINATION_LOG = "/dev/termination-log"
_BUDGET = 3072  # four containers share the 12 KiB that a pod has
_SMALLEST_BUDGET = 256
_LARGEST_BUDGET = 4096

RECORDS = "_AW_RECORDS"
TORCH_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")


@dataclass(frozen=True)
class Environment:
    """The worker's identity, and the destination of its record; the controller injects most of it.

    `budget` is in bytes. `error_uri` is the URI of the file itself, or empty: no store.
    """

    off: bool
    worker: str
    pod_uid: str
    attempt: int
    rank: int | None
    error_uri: str
    budget: int
    termination_log: str


def read(environ: Mapping[str, str]) -> Environment:
    """Return the variables' values; those of Flyte count if this project's are absent.

    No value is rejected: a recorder that cannot read a number does without it.
    """
    worker = _first(environ, "AW_WORKER_NAME", "_F_WN", "FLYTE_INTERNAL_WORKER_NAME", "HOSTNAME")
    strategy = _first(environ, "AW_ERROR_STRATEGY", "_F_DES", "FLYTE_INTERNAL_DIST_ERROR_STRATEGY")
    budget = _number(environ.get("AW_TERMINATION_BUDGET"))
    return Environment(
        off=strategy.lower() == "off",
        worker=worker,
        pod_uid=environ.get("AW_POD_UID", ""),
        attempt=_number(environ.get("AW_ATTEMPT")) or 0,
        rank=_number(environ.get("RANK")),
        error_uri=_file_in(environ.get("AW_ERROR_URI", ""), worker),
        budget=min(max(budget, _SMALLEST_BUDGET), _LARGEST_BUDGET) if budget else _BUDGET,
        termination_log=environ.get("AW_TERMINATION_LOG") or TERMINATION_LOG,
    )


def for_command(environ: Mapping[str, str], folder: str, hook: bool) -> dict[str, str]:
    """Return the command's environment: the recorder's, with a place to write errors to.

    A TORCHELASTIC_ERROR_FILE that the user set stays, and one of a recorder around this one does
    not. `hook`: record uncaught exceptions of Python processes.
    """
    added = dict(environ)
    path = added.get(TORCH_ERROR_FILE)
    if path is None or os.path.dirname(path) == added.get(RECORDS):
        added[TORCH_ERROR_FILE] = os.path.join(folder, "torch_error.json")
    if hook:
        added[RECORDS] = folder
        modules = added.get("PYTHONPATH", "")
        added["PYTHONPATH"] = _HOOK + os.pathsep + modules if modules else _HOOK
    return added


def _first(environ: Mapping[str, str], *names: str) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 10 else None


def _file_in(uri: str, worker: str) -> str:
    """Return where the record goes: a place that is no `.pb` file is a folder."""
    if not uri or uri.endswith(".pb"):
        return uri
    return "{}/error-{}.pb".format(uri.rstrip("/"), worker.replace("/", "_") or "unknown")
