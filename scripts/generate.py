"""Writes again what is generated from code: `make generate`. A unit test fails when it is stale.

So far docs/phases.md, from the one table of edges that the controller's tests hold `decide` to.
"""

import sys
from pathlib import Path

from controller.phases.phase import EDGES, Phase

REPOSITORY = Path(__file__).resolve().parents[1]
PHASES_PAGE = REPOSITORY / "docs" / "phases.md"

_MEANINGS = {
    Phase.EMPTY: "created; no controller has seen it yet",
    Phase.SUSPENDED: "queued: nothing of it exists in the cluster",
    Phase.RESUMING: "Kueue granted its quota; its components are being created",
    Phase.RUNNING: "all components exist; the controller watches them and their pods",
    Phase.RESETTING: "unhealthy: everything is deleted, then tried again with the same quota",
    Phase.SUSPENDING: "preempted or suspended: everything is deleted, then it is queued again",
    Phase.SUCCEEDED: "it did what it was for; quota is given back, what it made stays for a time",
    Phase.FAILED: "it cannot go on; its quota is given back when everything is deleted",
    Phase.TERMINATING: "it is being deleted; its finalizer goes when everything is gone",
}


def phases_page() -> str:
    """docs/phases.md."""
    lines = [
        "# Phases of an AppWrapper",
        "",
        "Generated from `controller/phases/phase.py` by `make generate`; a test holds decisions",
        "to exactly these edges. Every phase may also go to Terminating (deletion).",
        "",
        "```mermaid",
        "stateDiagram-v2",
    ]
    for phase, targets in EDGES.items():
        drawn = sorted(targets - {Phase.TERMINATING})
        lines += [f"    {phase or '[*]'} --> {target}" for target in drawn]
    lines += ["```", "", "| Phase | Meaning |", "|---|---|"]
    lines += [f"| {phase or '(none)'} | {_MEANINGS[phase]} |" for phase in Phase]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes every generated file."""
    PHASES_PAGE.write_text(phases_page())
    print(f"wrote {PHASES_PAGE.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
