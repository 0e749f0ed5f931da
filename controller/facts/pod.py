"""A pod as the controller remembers it: a few hundred bytes of what decisions depend on."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern

from controller.facts.crash_loop import crash_loop
from controller.facts.exit_codes import exit_codes
from controller.facts.pod_cause import pod_cause
from shared.api.conditions import condition
from shared.api.json import JsonObject
from shared.api.names import LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_COMPONENT, LABEL_UID
from shared.api.owner import controller_of
from shared.injection.requested_resources import requested_resources
from shared.kinds.table import KINDS

# Where the controllers that make pods say which of their pods one is. A replacement has the same.
_INDEX_LABELS = tuple(each.index_label for each in KINDS if each.index_label is not None)
_COMPONENT = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """`attempt` and `appwrapper_uid` are empty for pods of the Go operator's making.

    `component` is the index of the component that it comes from, None where no label of ours tells.
    `resources` names, sorted, what some container asks for a non-zero amount of. `crash_loop` and
    `cause`: see the modules of these names.
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
    bound: str  # RFC 3339: when it got its node; empty before
    priority: int
    resources: tuple[str, ...]
    exit_codes: tuple[int, ...]  # its own ones, if it failed
    crash_loop: str | None
    cause: str = ""  # why it failed or does not start, where Kubernetes has a word for it
    leaves: str = ""  # RFC 3339: when its termination grace period ends; empty if nobody deletes it


def project_pod(item: JsonObject) -> Pod:
    """From the API server's object, which may then be dropped.

    What pods have in common is one string for all of them: there may be tens of thousands.
    """
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    spec = item.get("spec") or {}
    status = item.get("status") or {}
    owner = controller_of(item)
    phase = status.get("phase") or "Pending"
    return Pod(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        appwrapper=intern(labels.get(LABEL_APPWRAPPER, "")),
        appwrapper_uid=intern(labels.get(LABEL_UID, "")),
        attempt=intern(labels.get(LABEL_ATTEMPT, "")),
        component=_component(labels),
        phase=intern(phase),
        deleting="deletionTimestamp" in metadata,
        created=intern(metadata.get("creationTimestamp") or ""),
        owner_uid=intern(owner.uid if owner else ""),
        owner_kind=intern(owner.kind if owner else ""),
        index=intern(_index(labels)),
        node=intern(spec.get("nodeName") or ""),
        bound=intern(_bound(status)),
        priority=spec.get("priority") or 0,
        resources=_resources(spec),
        exit_codes=exit_codes(item) if phase == "Failed" else (),
        crash_loop=crash_loop(spec, status) if phase == "Running" else None,
        cause=intern(pod_cause(status)),
        leaves=intern(metadata.get("deletionTimestamp") or ""),
    )


def _component(labels: dict[str, str]) -> int | None:
    text = labels.get(LABEL_COMPONENT, "")
    # Anybody may write labels; no AppWrapper has a thousand components.
    return int(text) if _COMPONENT.fullmatch(text) and LABEL_UID in labels else None


def is_only_placed(old: Pod | None, new: Pod | None) -> bool:
    """The scheduler found a node, which changes nothing for the AppWrapper."""
    if old is None or new is None or (old.node == new.node and old.bound == new.bound):
        return False
    return replace(old, node=new.node, bound=new.bound) == new


def touched(old: Pod | None, new: Pod | None) -> set[tuple[str, str]]:
    """Namespace and name of the AppWrappers that a change of a pod matters to.

    Two where somebody gave it the label of another: the one that lost it has to notice.
    """
    if is_only_placed(old, new):
        return set()
    return {(pod.namespace, pod.appwrapper) for pod in (old, new) if pod is not None}


def _index(labels: dict[str, str]) -> str:
    for label in _INDEX_LABELS:
        if label.index in labels:
            return f"{labels.get(label.role, '')}/{labels[label.index]}"
    return ""


def _bound(status: JsonObject) -> str:
    found = condition(status.get("conditions") or (), "PodScheduled")
    if found is None or found.get("status") != "True":
        return ""
    return found.get("lastTransitionTime") or ""


def _resources(spec: JsonObject) -> tuple[str, ...]:
    return _non_zero_ones(
        tuple(
            [
                each
                for field in ("containers", "initContainers")
                for container in spec.get(field) or ()
                if (resources := container.get("resources"))
                for amounts in (resources.get("requests"), resources.get("limits"))
                if amounts
                for each in amounts.items()
            ]
        )
    )


@lru_cache(maxsize=4096)
def _non_zero_ones(amounts: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Most pods ask for what others ask for: one answer, and one tuple, for all of them."""
    containers = [{"resources": {"requests": {name: amount}}} for name, amount in amounts]
    names = sorted({intern(name) for name, _ in amounts})
    return tuple(requested_resources({"containers": containers}, names, "spec"))
