"""Builds pods as the controller remembers them."""

from typing import Any

from controller.facts.pods import Pod


def pod(name: str, phase: str = "Running", **changes: Any) -> Pod:
    """Builds a pod of AppWrapper `train` with UID `u1`, owned by the Job with UID `job`."""
    fields: dict[str, Any] = {
        "namespace": "team1",
        "name": name,
        "uid": f"uid-{name}",
        "appwrapper": "train",
        "appwrapper_uid": "u1",
        "attempt": "1",
        "component": None,
        "phase": phase,
        "deleting": False,
        "created": "2026-01-01T10:00:00Z",
        "owner_uid": "job",
        "owner_kind": "Job",
        "index": "",
        "node": "",
        "bound": "",
        "priority": 0,
        "resources": (),
        "exit_codes": (),
        "crash_loop": None,
    }
    return Pod(**{**fields, **changes})
