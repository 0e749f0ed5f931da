"""One pod set: some number of pods made from one pod template of a component; and declared ones."""

from dataclasses import dataclass, field
from typing import Final

from shared.api.json import JsonObject

MAXIMUM_REPLICAS: Final = 2**31 - 1  # int32 in Kueue's and the Go operator's types
# Pod sets of one component that are looked at. No Kueue holds more than 18, and an object of a
# megabyte can have thousands.
MOST_POD_SETS: Final = 100

# Annotations of a pod set for topology-aware scheduling, as the Go operator's library names them.
TAS_POD_INDEX_LABEL: Final = "workload.codeflare.dev.appwrapper/tas-pod-index-label"
TAS_SUB_GROUP_INDEX_LABEL: Final = "workload.codeflare.dev.appwrapper/tas-sub-group-index-label"
TAS_SUB_GROUP_COUNT: Final = "workload.codeflare.dev.appwrapper/tas-sub-group-count"


class PodSetError(ValueError):
    """A component whose pod sets cannot be told. The message says where and why."""


class PodSetPathError(PodSetError):
    """A path that leads to no pod template."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """`replicas` pods of the pod template at `path`.

    `path` is relative to the component (`template.spec.template`); `annotations` are the pod set's
    own, not those of its pods.
    """

    path: str
    replicas: int = 1
    annotations: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """As in `spec.components[].podSets` and `status.componentStatus[].podSets`."""
        body: dict[str, object] = {"path": self.path, "replicas": self.replicas}
        if self.annotations:
            body["annotations"] = dict(self.annotations)
        return body


def declared_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """What `podSets` of the component says; () when absent, null or empty. Raises PodSetError.

    The paths are not followed: `paths.template_at` does that.
    """
    entries = component.get("podSets") or []
    if not isinstance(entries, list):
        raise PodSetError("podSets is not an array")
    if len(entries) > MOST_POD_SETS:
        found = f"podSets has {len(entries)} elements"
        raise PodSetError(f"{found}, but at most {MOST_POD_SETS} are read")
    return tuple(_declared(index, entry) for index, entry in enumerate(entries))


def _declared(index: int, entry: object) -> PodSet:
    if not isinstance(entry, dict):
        raise PodSetError(f"podSets[{index}] is not an object")
    path = entry.get("path", "")
    if not isinstance(path, str):
        raise PodSetError(f"podSets[{index}].path is not a string")
    replicas = entry.get("replicas")
    if replicas is None:
        replicas = 1
    elif type(replicas) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"podSets[{index}].replicas is not an integer")
    annotations = entry.get("annotations") or {}
    if not isinstance(annotations, dict):
        raise PodSetError(f"podSets[{index}].annotations is not an object")
    texts = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return PodSet(path, replicas, texts)
