"""Builds pods as the controller remembers them, and the components that own them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.facts.pods import Pod
from controller.phases.snapshot import Component


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


def with_uids(components: Sequence[Component], *uids: str) -> tuple[Component, ...]:
    """Gives the components' objects these UIDs, in order."""
    return tuple(replace(each, uid=uid) for each, uid in zip(components, uids, strict=False))
