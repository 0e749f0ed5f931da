"""Let the API server validate what an AppWrapper wraps, by dry runs under the user's identity.

The controller creates these objects later, under its own identity. So a refusal that concerns the
user's right to create them, or their creation without an AppWrapper, is no error.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from cli.cluster.connection import Cluster
from cli.validation.component_values import value_errors
from cli.validation.messages import REFUSALS, messages_of, placed_message
from shared.api.names import GROUP
from shared.api.objects import PODS, GroupVersionKind, JsonObject, Resource, metadata
from shared.kinds.kind import ROOT, PodSetError, template_at
from shared.kinds.table import pod_sets_once_admitted
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError, Forbidden
from shared.kube.discovery import UnknownKind

# The API server validates the pod templates of these groups' Kinds with the objects themselves.
_BUILT_IN: Final = ("", "apps", "batch")
# By this operator's webhooks and policies, which the API server calls after its own validation.
_OURS: Final = re.compile(
    rf"admission webhook \"[^\"]*\.{re.escape(GROUP)}\" denied"
    r"|ValidatingAdmissionPolicy '[^']*appwrapper[^']*'"
)
# By any webhook or policy. They may choose another status than 403.
_BY_A_POLICY: Final = re.compile(
    r"admission webhook \"[^\"]*\" denied|ValidatingAdmissionPolicy '[^']*'"
)
_NO_RIGHT: Final = "cannot create resource"
# The path of a field, at the beginning of a message.
_FIELD: Final = re.compile(r"[a-z]\w*(?:[.\[]\S*)?")


@dataclass(slots=True)
class ComponentFindings:
    """`errors` and `warnings` begin with the path in the AppWrapper.

    `untried`: the components that the API server could not validate, each with the reason.
    """

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    untried: dict[str, list[str]] = field(default_factory=dict)

    def not_checked(self) -> Iterator[str]:
        """Yield a line for each reason, with its components."""
        for why, places in self.untried.items():
            yield f"{', '.join(dict.fromkeys(places))}: {why}"


@dataclass(frozen=True, slots=True)
class _Trial:
    """An object to create. `place`: its path in the AppWrapper. `is_pod`: one of its pods."""

    place: str
    body: JsonObject
    is_pod: bool = False

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind.of(str(self.body["apiVersion"]), str(self.body["kind"]))


async def component_findings(
    cluster: Cluster,
    appwrapper: JsonObject,
    namespace: str,
    heard: list[str],
    *,
    known: Collection[str],
    is_new: bool,
) -> ComponentFindings:
    """Try to create each component in the namespace of its AppWrapper. Nothing is stored.

    `heard`: the list to which `cluster` adds the server's warnings. `known`: errors that are
    reported already. `is_new`: no AppWrapper of this name exists, so that an object of a
    component's name is another one's. Raises KubeError if the API server does not answer.
    """
    found = ComponentFindings()
    for trial in _trials(appwrapper, namespace):
        heard.clear()
        await _try(cluster, trial, namespace, found, is_new=is_new)
        warned = map(placed_message, dict.fromkeys(heard))
        found.warnings += [_placed(trial.place, each) for each in warned]
    heard.clear()
    found.errors = [each for each in found.errors if each not in known]
    reported = set(map(_path, [*known, *found.errors]))
    if found.untried:
        own = [each for each in value_errors(appwrapper) if _path(each) not in reported]
        found.errors += own
        reported |= set(map(_path, own))
    found.warnings = [each for each in found.warnings if _path(each) not in reported]
    return found


def _path(message: str) -> str:
    return message.partition(": ")[0]


async def _try(
    cluster: Cluster, trial: _Trial, namespace: str, found: ComponentFindings, *, is_new: bool
) -> None:
    place, kind = trial.place, trial.gvk.kind
    resource: Resource = PODS
    try:
        resource = await cluster.discovery.resource_for(trial.gvk)
        if not resource.namespaced:
            found.errors.append(f"{place}: {kind} is not namespaced: no AppWrapper can own it")
            return
        await cluster.client.send(requests.create(resource, namespace, trial.body, dry_run=True))
    except UnknownKind as error:
        found.errors.append(f"{place}: {error}")
    except AlreadyExists:
        if is_new:
            name = metadata(trial.body).get("name")
            found.warnings.append(
                f"{place}.metadata.name: {kind} {name} exists already: the AppWrapper can start"
                " only after its deletion"
            )
    except Forbidden as error:
        _refused(trial, resource, error, found)
    except ApiError as error:
        if _BY_A_POLICY.search(error.whole_message or str(error)):
            _refused(trial, resource, error, found)
        elif error.status in REFUSALS:
            found.errors += [_placed(place, each) for each in messages_of(error)]
        else:
            found.untried.setdefault(f"the API server gave no answer: {error}", []).append(place)


def _refused(trial: _Trial, resource: Resource, error: ApiError, found: ComponentFindings) -> None:
    message = error.whole_message or str(error)
    if _NO_RIGHT in message:
        why = (
            f"you may not create {resource.plural} yourself, so only the controller's own create"
            " has them validated"
        )
        found.untried.setdefault(why, []).append(trial.place)
    elif not _OURS.search(message):
        # The controller may be refused too, or its identity may be exempt.
        what = "such pods" if trial.is_pod else f"this {trial.gvk.kind}"
        found.warnings.append(f"{trial.place}: the cluster refuses {what} to you: {message}")


def _trials(appwrapper: JsonObject, namespace: str) -> Iterator[_Trial]:
    spec = appwrapper.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    for index, component in enumerate(components if isinstance(components, list) else ()):
        template = component.get(ROOT) if isinstance(component, dict) else None
        if not isinstance(template, dict) or not _is_object(template):
            continue  # the webhook reports it
        place = f"spec.components[{index}]"
        own = {**metadata(template), "namespace": namespace}
        yield _Trial(f"{place}.{ROOT}", {**template, "metadata": own})
        if GroupVersionKind.of(template["apiVersion"], "").group not in _BUILT_IN:
            yield from _pods(component, place, namespace)


def _pods(component: JsonObject, place: str, namespace: str) -> Iterator[_Trial]:
    """Yield a pod of each pod set, if its template can be read."""
    template = component[ROOT]
    try:
        paths = dict.fromkeys(each.path for each in pod_sets_once_admitted(component))
        for path in paths:
            own = template_at(template, path)
            given = metadata(own)
            labels, annotations = given.get("labels"), given.get("annotations")
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "generateName": "trial-",
                    "namespace": namespace,
                    "labels": labels,
                    "annotations": annotations,
                },
                "spec": own.get("spec"),
            }
            yield _Trial(f"{place}.{path}", pod, is_pod=True)
    except PodSetError:
        return  # the webhook reports it


def _is_object(template: JsonObject) -> bool:
    return all(isinstance(template.get(key), str) for key in ("apiVersion", "kind"))


def _placed(place: str, message: str) -> str:
    """Return the API server's message with the path of its field in the AppWrapper."""
    field, colon, rest = message.partition(": ")
    if colon and _FIELD.fullmatch(field):
        return f"{place}.{field}: {rest}"
    return f"{place}: {message}"
