"""The object to create for one component: its template with everything injected."""

from collections.abc import Sequence

import orjson

from shared.api.json import JsonObject
from shared.injection.conflict import InjectionConflict
from shared.injection.fields import object_in, objects_in
from shared.injection.identity import Identity
from shared.injection.pod_defaults import PodDefaults
from shared.injection.pod_set_info import merge_pod_set_info
from shared.injection.pod_template import fill_in
from shared.kinds.paths import ROOT, template_at
from shared.kinds.pod_set import PodSet


def component_to_create(
    component: JsonObject,
    pod_sets: Sequence[PodSet],
    name: str,
    identity: Identity,
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
    return body


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


def _name_and_own(body: JsonObject, name: str, identity: Identity) -> None:
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
