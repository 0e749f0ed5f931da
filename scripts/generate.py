"""Writes again what is generated from code: `make generate`. A unit test fails when it is stale.

docs/phases.md, from the one table of edges that the controller's tests hold `decide` to; and each
overlay's webhook configurations, from its config.yaml.
"""

import sys
from pathlib import Path

from controller.phases.phase import EDGES, Phase
from shared.config.loading import load_config
from webhook.registration import registration_yaml

REPOSITORY = Path(__file__).resolve().parents[1]
PHASES_PAGE = REPOSITORY / "docs" / "phases.md"
OVERLAYS = REPOSITORY / "deploy" / "manifests" / "overlays"

_REGISTRATION_HEADER = """\
# When the API server asks the webhook. Generated from config.yaml beside this file by
# `make generate`; docs/webhook.md says what each part is for.
"""

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


def registrations() -> dict[Path, str]:
    """Each overlay's webhook configurations, by file."""
    return {
        file.with_name("webhook-configurations.yaml"): _REGISTRATION_HEADER
        + registration_yaml(load_config(file).config)
        for file in sorted(OVERLAYS.glob("*/config.yaml"))
    }


def main() -> int:
    """Writes every generated file."""
    for file, content in {PHASES_PAGE: phases_page(), **registrations()}.items():
        file.write_text(content)
        print(f"wrote {file.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
