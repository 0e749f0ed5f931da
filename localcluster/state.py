"""Stores the state of a cluster in its folder, as JSON; `status` reads it."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from localcluster.machine.files import replace_private

_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One row of the table."""

    name: str
    pid: int
    state: str
    address: str
    log: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The output of `status -o json`.

    `pid` is the process that all others end with; `ready`: the start was complete.
    """

    pid: int
    ready: bool
    kubeconfig: str
    processes: tuple[ProcessState, ...]


def write_state(folder: Path, state: ClusterState) -> None:
    """Replaces the file in one step."""
    replace_private(folder / _FILE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


def read_state(folder: Path) -> ClusterState | None:
    """Returns the state, or None if there is no cluster or its start has only begun."""
    try:
        fields = orjson.loads((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    processes = tuple(ProcessState(**each) for each in fields.pop("processes"))
    return ClusterState(**fields, processes=processes)
