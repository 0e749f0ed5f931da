"""The object to create for one component: its template with everything injected."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
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
from shared.kinds.kind import ROOT, PodSet, template_at, value_or_none
from shared.kinds.table import known_kind

# Full names for components that only say generateName.
#
# The API server would choose the suffix while creating. Then a create that timed out could not be
# looked up, so the suffix is chosen here, and stands in status before the create.

# The API server's own alphabet and lengths for generated names.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_BASE: Final = 63 - _SUFFIX_LENGTH


def generated_name(base: str, uid: str, attempt: int, index: int) -> str:
    """`base` and five characters that depend on the AppWrapper's UID, attempt and component."""
    seed = f"{uid}/{attempt}/{index}".encode()
    number = int.from_bytes(hashlib.sha256(seed).digest()[:8])
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[place]
    return base[:_LONGEST_BASE] + suffix


# Whose a component or pod is: the labels and the owner reference that tie it to an AppWrapper.


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
        """On every component and every pod template. The name alone is what the Go operator set."""
        return {
            LABEL_APPWRAPPER: self.name,
            LABEL_UID: self.uid,
            LABEL_ATTEMPT: str(self.attempt),
            LABEL_COMPONENT: str(self.component),
        }

    @property
    def owner_reference(self) -> JsonObject:
        """Ties a component to its AppWrapper for garbage collection, and for Kueue.

        Kueue leaves what a queued AppWrapper controls alone (kueue.md 3); so all of these fields
        matter.
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
    """A new object; `component`, an element of spec.components, is left unchanged.

    podSetInfos go to the pod sets in order. Raises InjectionConflict when they are of another
    number, or want something else than the template, for a field of the template that is of another
    type than it must be, and for a template nested too deep to be sent; PodSetPathError when a pod
    set's path leads nowhere.
    """
    body = _copy(component["template"])
    _name_and_own(body, name, identity)
    for pod_set, info in zip(pod_sets, _infos(component, len(pod_sets)), strict=True):
        pod_template = template_at(body, pod_set.path)
        merge_pod_set_info(pod_template, info, pod_set.path)
        # Ours win: a pod with another AppWrapper's name would be counted there.
        fill_in(pod_template, identity.labels, defaults, pod_set.path)
    _replace_ended_pods_only(body)
    return body


# When a Job makes another pod for one that is deleted.
#
# Unless told otherwise it does so at once, and the deleted one goes on for its grace period: by
# deleting pods again and again somebody would run many times what is reserved.

_POLICY: Final = "podReplacementPolicy"
_ONCE_ENDED: Final = "Failed"  # "has ended", in the API's word


def _replace_ended_pods_only(body: JsonObject) -> None:
    """Of what `body` says itself nothing is changed."""
    kind = known_kind(body)
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
