"""What the controller remembers of one wrapped object."""

from dataclasses import dataclass

from controller.gather.component_status.by_kind import REPORT_BY_KIND
from controller.gather.component_status.report import UNFINISHED
from controller.phases.snapshot import Terminal
from shared.api.json import JsonObject
from shared.api.names import LABEL_ATTEMPT
from shared.api.owner import controller_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFacts:
    """One object and the AppWrapper that controls it. `message` says why it failed, if it did."""

    namespace: str
    name: str
    group_kind: str = "Pod"
    uid: str
    owner_uid: str
    owner_name: str
    attempt: str  # empty where the Go operator made it
    deleting: bool
    terminal: Terminal | None = None
    message: str = ""


def project_component(group_kind: str, item: JsonObject) -> ComponentFacts | None:
    """From the API server's object (or its metadata); None for one that nobody controls."""
    owner = controller_of(item)
    if owner is None:
        return None
    metadata = item["metadata"]
    report = REPORT_BY_KIND[group_kind](item) if group_kind in REPORT_BY_KIND else UNFINISHED
    return ComponentFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        group_kind=group_kind,
        uid=metadata["uid"],
        owner_uid=owner.uid,
        owner_name=owner.name,
        attempt=(metadata.get("labels") or {}).get(LABEL_ATTEMPT, ""),
        deleting="deletionTimestamp" in metadata,
        terminal=report.terminal,
        message=report.message,
    )
