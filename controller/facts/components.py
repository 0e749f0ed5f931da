"""Components as facts: their objects, and what the controller remembers of each."""

from dataclasses import dataclass

from controller.facts.pods import component_index
from shared.api.conditions import NO_PROGRESS, Progress, Terminal
from shared.api.names import KIND, LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_UID
from shared.api.objects import JsonObject, Owner, controller_of
from shared.kinds.table import is_idle, progress_of, report_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFacts:
    """One object and the AppWrapper that controls it. `message`: why it failed, if it did.

    `invalid`: it failed because its operator rejects it.

    `deletion_deadline`: when its deletion, with the grace period, is due; empty without a deletion.
    `labelled`: it carries the label that watches select. Without the label no watch reports it.
    """

    namespace: str
    name: str
    group_kind: str = "Pod"
    uid: str
    owner_uid: str
    owner_name: str
    attempt: str  # empty if the Go operator created it
    deleting: bool
    terminal: Terminal | None = None
    message: str = ""
    invalid: bool = False
    progress: Progress = NO_PROGRESS
    deletion_deadline: str = ""
    labelled: bool = True
    component: int | None = None  # its index by its label; None without the label
    controlled: bool = False  # its owner reference names the AppWrapper, not only its label

    @property
    def idle(self) -> bool:
        """True if nothing makes pods for it any more: it may disappear before its pods.

        Pods of the Go operator are known by their owner alone, so that owner goes last.
        """
        return bool(self.attempt) and is_idle(self.group_kind, ended=self.terminal is not None)


def project_component(group_kind: str, item: JsonObject) -> ComponentFacts | None:
    """Project an object, or only its metadata; None for one without a controlling owner.

    The UID label replaces a lost owner reference: after a deletion of the AppWrapper with
    `--cascade=orphan` the garbage collector removes the reference.
    """
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    controller = controller_of(item)
    owner = controller or _labelled_owner(labels)
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
        attempt=labels.get(LABEL_ATTEMPT, ""),
        deleting="deletionTimestamp" in metadata,
        deletion_deadline=metadata.get("deletionTimestamp") or "",
        terminal=report.terminal,
        message=report.message,
        invalid=report.invalid,
        progress=progress_of(group_kind, item),
        labelled=LABEL_APPWRAPPER in labels,
        component=component_index(labels),
        controlled=controller is not None,
    )


def _labelled_owner(labels: dict[str, str]) -> Owner | None:
    if not labels.get(LABEL_UID):
        return None
    return Owner(labels[LABEL_UID], KIND, labels.get(LABEL_APPWRAPPER, ""))
