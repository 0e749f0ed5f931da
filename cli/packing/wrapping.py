"""Parse and check the options of `pack`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cli.command import CommandError
from cli.manifests.manifest import Manifest
from shared.api.names import LABEL_QUEUE_NAME
from shared.api.objects import is_dns_label, is_label_key, is_label_value
from shared.kinds.kind import MAXIMUM_REPLICAS, PodSet

_POD_SET: Final = re.compile(
    r"(?:(?P<object>[^:=]+):)?(?:(?P<path>[^:=]+)=(?P<replicas>[^=]*)|none)"
)
_EXPECTED: Final = (
    "write PATH=REPLICAS, such as template.spec.template=4, with KIND/NAME: before it where several"
    " objects need one; or KIND/NAME:none for an object without pods"
)


@dataclass(frozen=True, slots=True)
class DeclaredPodSet:
    """One --podset. `target`: `Kind`, `Kind/name`, or "" for the one object that needs it.

    `pod_set`: None if the option declares that the object has no pods.
    """

    target: str
    pod_set: PodSet | None

    def names(self, manifest: Manifest) -> bool:
        """True if the option names this object."""
        return self.target in (manifest.kind, str(manifest))


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The options for the AppWrapper. "" means that the option is not given.

    `helpers`: the objects of --helper: `Kind/name`, `Kind` or a name.

    `origins`: the option that set a field, by the field's path.
    """

    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod_sets: tuple[DeclaredPodSet, ...] = ()
    helpers: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def wrapping(
    *,
    name: str = "",
    namespace: str = "",
    queue: str = "",
    labels: Iterable[str] = (),
    annotations: Iterable[str] = (),
    fault_tolerance: Mapping[str, tuple[str, str]] | None = None,
    pod_sets: Iterable[str] = (),
    helpers: Iterable[str] = (),
) -> Wrapping:
    """Parse the options. `fault_tolerance` maps the key of an annotation to its option and value.

    Raises CommandError.
    """
    origins = {}
    if name:
        origins["metadata.name"] = "--name"
        if not is_dns_label(name):
            raise CommandError(
                f"--name {name}: at most 63 lower-case letters, digits and hyphens make the name"
                " of an AppWrapper"
            )
    if namespace:
        origins["metadata.namespace"] = "--namespace"
        if not is_dns_label(namespace):
            raise CommandError(f"--namespace {namespace}: this cannot be the name of a namespace")
    own_labels = _pairs("--label", labels, origins)
    if queue:
        _add(own_labels, LABEL_QUEUE_NAME, queue, "--queue", "label", origins)
    for key, value in own_labels.items():
        if not is_label_value(value):
            option = origins[f"metadata.labels[{key}]"]
            raise CommandError(f"{option}: {value!r} cannot be the value of a label")
    own_annotations = _pairs("--annotation", annotations, origins)
    for key, (option, value) in (fault_tolerance or {}).items():
        _add(own_annotations, key, value, option, "annotation", origins)
    declared = tuple(_pod_set(each) for each in pod_sets)
    return Wrapping(name, namespace, own_labels, own_annotations, declared, tuple(helpers), origins)


def _pairs(option: str, texts: Iterable[str], origins: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            raise CommandError(f"{option} {text}: write {option} KEY=VALUE")
        if not is_label_key(key):
            raise CommandError(f"{option} {text}: {key!r} cannot be a key of labels or annotations")
        _add(found, key, value, option, option.removeprefix("--"), origins)
    return found


def _add(
    found: dict[str, str], key: str, value: str, option: str, what: str, origins: dict[str, str]
) -> None:
    if key in found:
        raise CommandError(f"{option}: the {what} {key} is given twice")
    origins[f"metadata.{what}s[{key}]"] = option
    found[key] = value


def _pod_set(text: str) -> DeclaredPodSet:
    found = _POD_SET.fullmatch(text)
    if found is None:
        raise CommandError(f"--podset {text}: {_EXPECTED}")
    target = found["object"] or ""
    if found["path"] is None:
        return DeclaredPodSet(target, None)
    replicas = found["replicas"]
    if not re.fullmatch("[0-9]{1,10}", replicas) or int(replicas) > MAXIMUM_REPLICAS:
        raise CommandError(
            f"--podset {text}: the number of replicas must be from 0 to {MAXIMUM_REPLICAS}"
        )
    return DeclaredPodSet(target, PodSet(found["path"], int(replicas)))
