"""A pod as the controller remembers it: a few hundred bytes of what decisions depend on."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shared.api.json import JsonObject
from shared.api.names import LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_COMPONENT, LABEL_UID
from shared.api.owner import controller_of

# Where the controllers that make pods say which of their pods one is. A replacement has the same.
_INDEX_LABELS = (
    "batch.kubernetes.io/job-completion-index",
    "training.kubeflow.org/replica-index",
    "apps.kubernetes.io/pod-index",
)
_COMPONENT = re.compile(r"[0-9]{1,3}")
# With the Training Operator an index is unique within a role only.
_ROLE_LABEL = "training.kubeflow.org/replica-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """`attempt` and `appwrapper_uid` are empty for pods of the Go operator's making.

    `component` is the index of the component that it comes from, None where no label of ours tells.
    Nothing that changes without meaning (a resourceVersion, a heartbeat) belongs here: a change of
    any field is a change to look at.
    """

    namespace: str
    name: str
    uid: str
    appwrapper: str
    appwrapper_uid: str
    attempt: str
    component: int | None
    phase: str
    deleting: bool
    created: str  # RFC 3339: compares as text
    owner_uid: str
    owner_kind: str
    index: str  # within its owner; empty where its owner gives none
    node: str
    exit_codes: tuple[int, ...]  # non-zero ones, of terminated containers


def project_pod(item: JsonObject) -> Pod:
    """From the API server's object, which may then be dropped."""
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    status = item.get("status") or {}
    owner = controller_of(item)
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        appwrapper=labels.get(LABEL_APPWRAPPER, ""),
        appwrapper_uid=labels.get(LABEL_UID, ""),
        attempt=labels.get(LABEL_ATTEMPT, ""),
        component=_component(labels),
        phase=status.get("phase") or "Pending",
        deleting="deletionTimestamp" in metadata,
        created=metadata.get("creationTimestamp") or "",
        owner_uid=owner.uid if owner else "",
        owner_kind=owner.kind if owner else "",
        index=_index(labels),
        node=(item.get("spec") or {}).get("nodeName") or "",
        exit_codes=tuple(_exit_codes(status.get("containerStatuses") or ())),
    )


def _component(labels: dict[str, str]) -> int | None:
    text = labels.get(LABEL_COMPONENT, "")
    # Anybody may write labels; no AppWrapper has a thousand components.
    return int(text) if _COMPONENT.fullmatch(text) and LABEL_UID in labels else None


def is_only_placed(old: Pod | None, new: Pod | None) -> bool:
    """The scheduler found a node, which changes nothing for the AppWrapper."""
    if old is None or new is None or old.node == new.node:
        return False
    return replace(old, node=new.node) == new


def _index(labels: dict[str, str]) -> str:
    for label in _INDEX_LABELS:
        if label in labels:
            return f"{labels.get(_ROLE_LABEL, '')}/{labels[label]}"
    return ""


def _exit_codes(statuses: Iterable[JsonObject]) -> Iterable[int]:
    for status in statuses:
        terminated = (status.get("state") or {}).get("terminated") or {}
        if code := terminated.get("exitCode"):
            yield code
