"""What `status` reads: the state of a cluster, kept in its folder as JSON."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

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
    """`pid` is the process that all others end with; `ready` once everything was."""

    pid: int
    ready: bool
    kubeconfig: str
    processes: tuple[ProcessState, ...]

    def as_json(self) -> dict[str, Any]:
        """As `status -o json` prints it."""
        return asdict(self)


def write_state(folder: Path, state: ClusterState) -> None:
    """Replaces the file in one step."""
    draft = folder / f".{_FILE}.{os.getpid()}"
    draft.write_bytes(orjson.dumps(asdict(state), option=orjson.OPT_INDENT_2))
    draft.rename(folder / _FILE)


def read_state(folder: Path) -> ClusterState | None:
    """The state, or None where there is no cluster or it has only begun to start."""
    try:
        fields = orjson.loads((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    processes = tuple(ProcessState(**each) for each in fields.pop("processes"))
    return ClusterState(**fields, processes=processes)
