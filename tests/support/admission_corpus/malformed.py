"""Templates and specs of another shape than the CRD's.

Kueue's webhook and the schema of the CRD come before our validation, so they refuse most of these.
Our own refusals of the same shapes are in the unit tests of `webhook/rules/submission.py`.
"""

from collections.abc import Iterator
from typing import Any

from tests.support.admission_corpus.case import Case, Refused, appwrapper, invalid
from tests.support.builders.admission import POD, component

_SCHEMA = "the schema of the CRD"
_DECODING = "the API server decodes it before admission"
_KUEUE = "Kueue's webhook decodes it before ours"


def _of_type(path: str, found: str) -> str:
    return f'{path}: Invalid value: "{found}": {path} in body must be of type object: "{found}"'


# Each template, and the errors of the schema at its path.
_BY_SCHEMA: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a string": ("Pod", (_of_type("{}", "string"),)),
    "a list": ([POD], (_of_type("{}", "array"),)),
    "a number": (1, (_of_type("{}", "integer"),)),
    "true": (True, (_of_type("{}", "boolean"),)),
    "null": (None, (_of_type("{}", "null"),)),
    "empty": ({}, ("{}.apiVersion: Required value", "{}.kind: Required value")),
    "without a kind": ({"apiVersion": "v1"}, ("{}.kind: Required value",)),
}
_BY_DECODING = {
    "a kind that is a list": (
        {"apiVersion": "v1", "kind": ["Pod"]},
        '.kind: Invalid value: ["Pod"]: must be a string',
    ),
    "with metadata that is a list": (
        {**POD, "metadata": []},
        ".metadata: Invalid value: []: json: cannot unmarshal array into Go value of type "
        "v1.ObjectMeta",
    ),
}
_BY_US = {
    "a version that climbs": (
        {"apiVersion": "../v1", "kind": "Pod"},
        '.apiVersion: Invalid value: "../v1": must be a version such as v1, or group and version '
        "such as batch/v1",
    ),
    "with a spec that is a string": (
        {**POD, "spec": "x"},
        ": Invalid value: the Pod needs spec: template has no spec object, so it is not a pod "
        "template",
    ),
    "with containers that are an object": (
        {**POD, "spec": {"containers": {"c": {}}}},
        ".spec.containers: Invalid value: must be an array, but is an object",
    ),
}


def _templates() -> Iterator[Case]:
    for before in ((), (POD,)):
        place = len(before)
        path = f"spec.components[{place}].template"
        for name, (template, errors) in _BY_SCHEMA.items():
            yield Case(
                name=f"template {place}, {name} -> refused with its path",
                sent=appwrapper(*map(component, (*before, template))),
                refused=invalid(*(error.replace("{}", path) for error in errors)),
                only_on_a_server=_SCHEMA,
            )
        for name, (template, error) in _BY_DECODING.items():
            start = 'AppWrapper in version "v1beta2" cannot be handled as a AppWrapper: '
            yield Case(
                name=f"template {place}, {name} -> refused with its path",
                sent=appwrapper(*map(component, (*before, template))),
                refused=Refused(400, f"{start}{path}{error}"),
                only_on_a_server=_DECODING,
            )
        for name, (template, error) in _BY_US.items():
            yield Case(
                name=f"template {place}, {name} -> refused with its path",
                sent=appwrapper(*map(component, (*before, template))),
                refused=invalid(f"{path}{error}"),
            )


_NO_COMPONENTS = (
    'spec.components: Invalid value: "null": spec.components in body must be of type array: "null"'
)
_SPECS: dict[str, tuple[Any, str]] = {
    "null": (None, _NO_COMPONENTS),
    "empty": ({}, _NO_COMPONENTS),
    "with null for components": ({"components": None}, _NO_COMPONENTS),
    "with a null component": (
        {"components": [None]},
        _of_type("spec.components[0].template", "null"),
    ),
}
_COMPONENT = "AppWrapperComponent.spec.components"
# Each spec, and the JSON type that Kueue finds in a field of a Go type.
_GO: dict[str, tuple[Any, str, str, str]] = {
    "a string": ("x", "string", "AppWrapper.spec", "v1beta2.AppWrapperSpec"),
    "a list": ([], "array", "AppWrapper.spec", "v1beta2.AppWrapperSpec"),
    "with an object for components": (
        {"components": {}},
        "object",
        "AppWrapperSpec.spec.components",
        "[]v1beta2.AppWrapperComponent",
    ),
    "with a string for components": (
        {"components": "x"},
        "string",
        "AppWrapperSpec.spec.components",
        "[]v1beta2.AppWrapperComponent",
    ),
    "with a component that is a list": (
        {"components": [[]]},
        "array",
        "AppWrapperSpec.spec.components",
        "v1beta2.AppWrapperComponent",
    ),
    "with pod sets that are a string": (
        {"components": [{"template": POD, "podSets": "x"}]},
        "string",
        f"{_COMPONENT}.podSets",
        "[]v1beta2.AppWrapperPodSet",
    ),
    "with a pod set that is a number": (
        {"components": [{"template": POD, "podSets": [1]}]},
        "number",
        f"{_COMPONENT}.podSets",
        "v1beta2.AppWrapperPodSet",
    ),
    "with pod sets that are an object": (
        {"components": [{"template": POD, "podSets": {}}]},
        "object",
        f"{_COMPONENT}.podSets",
        "[]v1beta2.AppWrapperPodSet",
    ),
    "with pod set infos that are an object": (
        {"components": [{"template": POD, "podSetInfos": {}}]},
        "object",
        f"{_COMPONENT}.podSetInfos",
        "[]v1beta2.AppWrapperPodSetInfo",
    ),
    "with annotations that are a list": (
        {"components": [{"template": POD, "annotations": []}]},
        "array",
        f"{_COMPONENT}.annotations",
        "map[string]string",
    ),
    "with suspend as a string": (
        {"components": [{"template": POD}], "suspend": "true"},
        "string",
        "AppWrapperSpec.spec.suspend",
        "bool",
    ),
    "with managedBy as a number": (
        {"components": [{"template": POD}], "managedBy": 1},
        "number",
        "AppWrapperSpec.spec.managedBy",
        "string",
    ),
}


def _specs() -> Iterator[Case]:
    for name, (spec, error) in _SPECS.items():
        yield Case(
            name=f"a spec {name} -> refused with its field",
            sent=appwrapper() | {"spec": spec},
            refused=invalid(error),
            only_on_a_server=_SCHEMA,
        )
    for name, (spec, found, go_field, go_type) in _GO.items():
        text = f"json: cannot unmarshal {found} into Go struct field {go_field} of type {go_type}"
        yield Case(
            name=f"a spec {name} -> refused with its field",
            sent=appwrapper() | {"spec": spec},
            refused=Refused(400, text),
            only_on_a_server=_KUEUE,
        )


CASES = (*_templates(), *_specs())
