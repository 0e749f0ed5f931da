"""Build the object of one component: its template with everything injected."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from shared.api.names import (
    API_VERSION,
    KIND,
    LABEL_APPWRAPPER,
    LABEL_ATTEMPT,
    LABEL_COMPONENT,
    LABEL_UID,
)
from shared.api.objects import JsonObject
from shared.injection.fields import InjectionConflict, object_in, objects_in
from shared.injection.pod_template import PodDefaults, fill_in, merge_pod_set_info
from shared.kinds.kind import ROOT, Kind, PodSet, template_at, value_or_none
from shared.kinds.table import known_kind

# Full names for components that have only generateName. The API server would choose the suffix at
# creation, so a create that timed out could not be found. The controller therefore chooses the
# suffix and writes it into the status before the create.

# The API server's own alphabet and lengths for generated names.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_BASE: Final = 63 - _SUFFIX_LENGTH


def generated_name(base: str, uid: str, attempt: int, index: int, taken: str = "") -> str:
    """Return `base` and five characters from the AppWrapper's UID, attempt and component.

    `taken`: the name that was returned before, and that another object has. The next name follows
    from it.
    """
    seed = f"{uid}/{attempt}/{index}{taken}".encode()
    number = int.from_bytes(hashlib.sha256(seed).digest()[:8])
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[place]
    return base[:_LONGEST_BASE] + suffix


# The labels and the owner reference that tie a component or a pod to its AppWrapper.


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentIdentity:
    """One component in one deployment of one AppWrapper. `component` is its index in the spec."""

    namespace: str
    name: str
    uid: str
    attempt: int
    component: int

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of components and pod templates. The Go operator set only the name."""
        return {
            LABEL_APPWRAPPER: self.name,
            LABEL_UID: self.uid,
            LABEL_ATTEMPT: str(self.attempt),
            LABEL_COMPONENT: str(self.component),
        }

    @property
    def owner_reference(self) -> JsonObject:
        """Return the reference for garbage collection and for Kueue.

        Kueue ignores objects that a queued AppWrapper controls, so all of these fields matter.
        """
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def component_to_create(
    component: JsonObject,
    pod_sets: Sequence[PodSet],
    name: str,
    identity: ComponentIdentity,
    defaults: PodDefaults,
) -> JsonObject:
    """Return a new object; `component`, an element of spec.components, is not changed.

    podSetInfos belong to the pod sets in order. Raise InjectionConflict if their number differs, if
    they conflict with the template, if a field of the template has the wrong type, or if the
    template is nested too deep to be sent. Raise PodSetPathError if a pod set's path leads nowhere.
    """
    body = _copy(component["template"])
    _name_and_own(body, name, identity)
    kind = known_kind(body)
    if kind is not None and kind.pods_by:
        identity = replace(identity, component=identity.component + 1)
        _mark(body, kind.marked, identity.uid)
    for pod_set, info in zip(pod_sets, _infos(component, len(pod_sets)), strict=True):
        pod_template = template_at(body, pod_set.path)
        merge_pod_set_info(pod_template, info, pod_set.path)
        # These labels replace the template's: with another AppWrapper's name a pod would count
        # there.
        fill_in(pod_template, identity.labels, defaults, pod_set.path)
    _replace_ended_pods_only(kind, body)
    return body


def _mark(body: JsonObject, path: str, uid: str) -> None:
    """Label the object between component and pods: an orphaned one is found by the UID."""
    parent, _, key = path.rpartition(".")
    metadata = object_in(template_at(body, parent), key, parent)
    object_in(metadata, "labels", path)[LABEL_UID] = uid


# When a Job replaces a deleted pod. By default it does so at once, while the deleted pod runs on
# during its grace period. By deleting pods repeatedly a user could then run many times the reserved
# quota.

_POLICY: Final = "podReplacementPolicy"
_ONCE_ENDED: Final = "Failed"  # the API's name for a pod that has ended


def _replace_ended_pods_only(kind: Kind | None, body: JsonObject) -> None:
    """Set the policy of each Job spec in `body`, unless it is set already."""
    for path in kind.job_specs(body) if kind else ():
        spec = value_or_none(body, path)
        if isinstance(spec, dict) and spec.get(_POLICY) is None:
            spec[_POLICY] = _ONCE_ENDED


def _copy(template: JsonObject) -> JsonObject:
    try:
        body: JsonObject = orjson.loads(orjson.dumps(template))
    except orjson.JSONEncodeError as error:
        raise InjectionConflict(f"{ROOT} is nested too deep to be sent") from error
    return body


def _infos(component: JsonObject, pod_sets: int) -> list[JsonObject]:
    infos: list[JsonObject] = component.get("podSetInfos") or []
    if infos and len(infos) != pod_sets:
        raise InjectionConflict(
            f"podSetInfos has {len(infos)} entries, but the component has {pod_sets} pod sets"
        )
    return infos or [{} for _ in range(pod_sets)]


def _name_and_own(body: JsonObject, name: str, identity: ComponentIdentity) -> None:
    metadata = object_in(body, "metadata", ROOT)
    namespace = metadata.get("namespace")
    if namespace and namespace != identity.namespace:
        raise InjectionConflict(
            f"template.metadata.namespace is {namespace!r}; "
            f"a component lives in its AppWrapper's namespace, {identity.namespace!r}"
        )
    metadata["namespace"] = identity.namespace
    metadata["name"] = name
    metadata.pop("generateName", None)
    owners = [
        owner
        for owner in objects_in(metadata, "ownerReferences", f"{ROOT}.metadata")
        if owner.get("uid") != identity.uid
    ]
    metadata["ownerReferences"] = [*owners, identity.owner_reference]
    object_in(metadata, "labels", f"{ROOT}.metadata").update(identity.labels)
