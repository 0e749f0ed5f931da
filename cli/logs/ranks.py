"""Number the pods of an AppWrapper: rank 0 is the first pod of the first pod set. Pure.

The order is the spec's: components, their pod sets (Master before Worker), then the index that the
Kind's own controller gives each pod. So the ranks of a PyTorchJob are torch's node ranks. Helpers
have no rank. A pod without an index has none either, unless its pod set is this pod alone.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controller.facts.pods import component_index
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_HELPER
from shared.api.objects import GroupVersionKind, JsonObject, labels
from shared.kinds.kind import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    Kind,
    PodSet,
    PodSetError,
    value_or_none,
)
from shared.kinds.table import pod_sets_once_admitted, record_of

_REPLICATED_JOB: Final = re.compile(r"template\.spec\.(template\.spec\.)?replicatedJobs\[\d+\]")
_REPLICATED_JOB_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_NUMBER: Final = re.compile("[0-9]{1,9}")

_Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A pod set, the rank of its first pod, and the label that its pods have beside their index."""

    pod_set: PodSet
    first: int
    kind: Kind
    label: str = ""
    value: str = ""

    def has(self, own: _Labels) -> bool:
        """True if pods with these labels are of this pod set."""
        return not self.label or own.get(self.label, "").lower() == self.value.lower()

    def index(self, own: _Labels) -> int | None:
        annotations = self.pod_set.annotations
        known = self.kind.index_label
        found = _number(own, annotations.get(TAS_POD_INDEX_LABEL) or (known.index if known else ""))
        if found is None:
            return 0 if self.pod_set.replicas == 1 else None
        if not (group_label := annotations.get(TAS_SUB_GROUP_INDEX_LABEL)):
            return found
        group = _number(own, group_label)
        groups = _number(annotations, TAS_SUB_GROUP_COUNT)
        if group is None or not groups:
            return None
        return group * (self.pod_set.replicas // groups) + found


@dataclass(frozen=True, slots=True)
class PodRanks:
    """The numbered pod sets, by the index of their component. `expected`: the number of pods."""

    pod_sets: Mapping[int, tuple[_Numbered, ...]]
    expected: int

    def of(self, pod: JsonObject) -> int | None:
        """Return the rank of a pod; None without one."""
        own = labels(pod)
        component = component_index(own)
        if component is None and len(self.pod_sets) == 1:  # created by the Go operator
            (component,) = self.pod_sets
        numbered = self.pod_sets.get(-1 if component is None else component, ())
        of_pod = [each for each in numbered if each.has(own)]
        if len(of_pod) != 1 or (index := of_pod[0].index(own)) is None:
            return None
        return of_pod[0].first + index


def pod_ranks(appwrapper: AppWrapper) -> PodRanks:
    """Return the numbers of the pods that the spec declares."""
    found: dict[int, tuple[_Numbered, ...]] = {}
    first = 0
    components = appwrapper.components
    for index, component in enumerate(components):
        own = tuple(_numbered(component, first))
        # The pods of a TrainingRuntime belong to the TrainJob after it.
        maker = index + 1 if own and own[0].kind.pods_by else index
        helpers = [(each.get("annotations") or {}) for each in components[maker : maker + 1]]
        if own and not any(each.get(ANNOTATION_HELPER) == "true" for each in helpers):
            found[maker] = own
            first = own[-1].first + own[-1].pod_set.replicas
    return PodRanks(found, first)


def _numbered(component: JsonObject, first: int) -> Iterator[_Numbered]:
    try:
        pod_sets = pod_sets_once_admitted(component)
    except PodSetError:
        return
    template: JsonObject = component["template"]
    kind = record_of(
        GroupVersionKind.of(template.get("apiVersion") or "", template.get("kind") or "").group_kind
    )
    for each in pod_sets:
        label, value = _distinction(template, kind, each.path)
        yield _Numbered(each, first, kind, label, value)
        first += each.replicas


def _distinction(template: JsonObject, kind: Kind, path: str) -> tuple[str, str]:
    """Return the label that distinguishes the pod set from the others of its component."""
    if (job := _REPLICATED_JOB.match(path)) is not None:
        return _REPLICATED_JOB_LABEL, str(value_or_none(template, f"{job[0]}.name") or "")
    if kind.roles is not None and kind.index_label is not None:
        role = path.removeprefix(f"{kind.roles.path}.").partition(".")[0]
        return kind.index_label.role, role
    return "", ""


def _number(texts: _Labels, key: str) -> int | None:
    text = texts.get(key, "")
    return int(text) if _NUMBER.fullmatch(text) else None
