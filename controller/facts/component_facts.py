"""What the controller remembers of one wrapped object."""

from dataclasses import dataclass

from controller.phases.snapshot import Component
from shared.api.component_report import Terminal
from shared.api.json import JsonObject
from shared.api.names import KIND, LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_UID
from shared.api.owner import Owner, controller_of
from shared.api.resource import Resource
from shared.kinds.table import report_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFacts:
    """One object and the AppWrapper that controls it. `message` says why it failed, if it did.

    `leaves` is when a delete, with its grace period, should have been done; empty without one.
    `labelled`: it carries the label by which objects are watched. Without it no watch tells of it.
    """

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
    leaves: str = ""
    labelled: bool = True


@dataclass(frozen=True, slots=True)
class Located:
    """One component: for decisions, and where its object is. `facts` None: there is none."""

    component: Component
    resource: Resource | None  # None: the API server does not serve its Kind
    facts: ComponentFacts | None
    watched: bool = True  # False: a change of the object wakes nobody


def project_component(group_kind: str, item: JsonObject) -> ComponentFacts | None:
    """From the API server's object (or its metadata); None for one that nobody controls.

    An object that lost its owner is still its AppWrapper's by our label: deleting the AppWrapper
    with `--cascade=orphan` makes the garbage collector take the reference away.
    """
    metadata = item["metadata"]
    owner = controller_of(item) or _labelled_owner(metadata.get("labels") or {})
    if owner is None:
        return None
    report = report_of(group_kind, item)
    return ComponentFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        group_kind=group_kind,
        uid=metadata["uid"],
        owner_uid=owner.uid,
        owner_name=owner.name,
        attempt=(metadata.get("labels") or {}).get(LABEL_ATTEMPT, ""),
        deleting="deletionTimestamp" in metadata,
        leaves=metadata.get("deletionTimestamp") or "",
        terminal=report.terminal,
        message=report.message,
        labelled=LABEL_APPWRAPPER in (metadata.get("labels") or {}),
    )


def _labelled_owner(labels: dict[str, str]) -> Owner | None:
    if not labels.get(LABEL_UID):
        return None
    return Owner(labels[LABEL_UID], KIND, labels.get(LABEL_APPWRAPPER, ""))
