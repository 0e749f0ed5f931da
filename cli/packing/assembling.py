"""Build an AppWrapper from manifests and options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cli.command import CommandError, ExitCode
from cli.manifests.manifest import Manifest
from cli.manifests.places import Place, way_in
from cli.packing.runtimes import with_runtimes
from cli.packing.wrapping import Wrapping
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP, LABEL_QUEUE_NAME
from shared.api.objects import (
    APPWRAPPERS,
    JsonObject,
    annotation,
    is_dns_label,
    is_label_value,
    label,
    metadata,
)
from shared.config.configuration import AllowedKinds
from shared.kinds.kind import PodSet, PodSetError
from shared.kinds.table import (
    BY_GROUP_KIND,
    makes_pods,
    pod_sets_once_admitted,
    pod_sets_to_declare,
)
from shared.waits.words import few
from webhook.rules.kinds import is_listed

_COMPONENTS: Final = ("spec", "components")


@dataclass(frozen=True, slots=True)
class PackedComponent:
    """One object with its declared pod sets: from --podset, else inferred from its Kind.

    `annotations`: the component's, from --helper or from the object itself.
    """

    manifest: Manifest
    pod_sets: tuple[PodSet, ...]
    by_option: bool
    annotations: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return the element of spec.components."""
        return {**self.beside_template, "template": self.manifest.value}

    @property
    def beside_template(self) -> JsonObject:
        """The fields of the component besides its template."""
        declared = [each.as_json() for each in self.pod_sets]
        return {
            **({"annotations": dict(self.annotations)} if self.annotations else {}),
            **({"podSets": declared} if declared else {}),
        }

    @property
    def does_the_work(self) -> bool:
        """True if the component has pods and is no helper."""
        if self.annotations.get(ANNOTATION_HELPER) == "true":
            return False
        try:
            own = pod_sets_once_admitted(self.as_json())
            return bool(own) or makes_pods(self.manifest.value)
        except PodSetError:
            return True  # the webhook's rules report the error later


@dataclass(frozen=True, slots=True)
class Packed:
    """An AppWrapper before it is written. `metadata`: the AppWrapper's own metadata."""

    metadata: JsonObject
    components: tuple[PackedComponent, ...]
    wrapping: Wrapping

    def as_json(self) -> JsonObject:
        return {
            "apiVersion": APPWRAPPERS.gvk.api_version,
            "kind": APPWRAPPERS.kind,
            "metadata": self.metadata,
            "spec": {"components": [each.as_json() for each in self.components]},
        }

    def locate(self, path: str) -> tuple[str, Place | None]:
        """Return the option or file that set the field at `path`, and the place in the file."""
        if path in self.wrapping.origins:
            return self.wrapping.origins[path], None
        way = way_in(self.as_json(), path)
        if way[:2] == _COMPONENTS and len(way) > 2:
            component = self.components[int(way[2])]
            manifest = component.manifest
            if component.by_option and way[3:4] == ("podSets",):
                return f"--podset {manifest}", None
            if way[3:4] == ("annotations",):
                return manifest.source, manifest.place(("metadata", *way[3:]))
            return manifest.source, manifest.place(way[4:])
        naming = _naming(self.components)
        if way[:1] == ("metadata",):  # copied from this object
            return naming.source, naming.place(way)
        return naming.source, None


def assemble(manifests: Sequence[Manifest], wrapping: Wrapping, allowed: AllowedKinds) -> Packed:
    """Build the AppWrapper. Raises CommandError if the manifests and options do not define one."""
    if not manifests:
        raise CommandError("there is no object to wrap: the input is empty, or has only comments")
    _refuse_twins(manifests)
    manifests = with_runtimes(manifests)
    components = _components(manifests, wrapping, allowed)
    own: JsonObject = _named(_naming(components), wrapping)
    if namespace := wrapping.namespace or _agreed(manifests, "namespace", "--namespace"):
        own["namespace"] = namespace
    labels = dict(wrapping.labels)
    if LABEL_QUEUE_NAME not in labels and (queue := _agreed(manifests, "queue", "--queue")):
        labels[LABEL_QUEUE_NAME] = queue
    if labels:
        own["labels"] = labels
    if wrapping.annotations:
        own["annotations"] = dict(wrapping.annotations)
    return Packed(own, components, wrapping)


def _naming(components: Sequence[PackedComponent]) -> Manifest:
    """Return the object whose name the AppWrapper gets: the first with pods that is no helper."""
    found = (each.manifest for each in components if each.does_the_work)
    return next(found, components[0].manifest)


def _named(naming: Manifest, wrapping: Wrapping) -> JsonObject:
    if wrapping.name:
        return {"name": wrapping.name}
    for key in ("name", "generateName"):
        found = metadata(naming.value).get(key)
        if isinstance(found, str) and found:
            return {key: found}
    raise CommandError(f"{naming.located()}: this object has no name. Add --name NAME")


def _agreed(manifests: Sequence[Manifest], what: str, option: str) -> str:
    """Return the namespace or queue that the objects name, "" if none names one.

    Raises CommandError if they name several, or if the name is invalid.
    """
    found: dict[str, Manifest] = {}
    for each in manifests:
        own = metadata(each.value).get("namespace") if what == "namespace" else None
        named = label(each.value, LABEL_QUEUE_NAME) if what == "queue" else own
        if isinstance(named, str) and named:
            found.setdefault(named, each)
    if len(found) > 1:
        listed = ", ".join(f"{name} ({each.located()})" for name, each in found.items())
        raise CommandError(
            f"the objects name more than one {what}: {listed}. An AppWrapper has one:"
            f" {'make them agree' if what == 'namespace' else f'name one with {option}'}",
            ExitCode.WANTING,
        )
    for name, first in found.items():
        # The names that options set are checked in `wrapping`.
        if not (is_dns_label(name) if what == "namespace" else is_label_value(name)):
            raise CommandError(
                f"{first.located()}: {first} names the {what} {name!r}, which is not a valid name",
                ExitCode.WANTING,
            )
    return next(iter(found), "")


def _refuse_twins(manifests: Sequence[Manifest]) -> None:
    """Reject two objects of one Kind and name: the API server would create only the first."""
    seen: dict[tuple[str, str], Manifest] = {}
    for each in manifests:
        name = metadata(each.value).get("name")
        if not isinstance(name, str):
            continue
        first = seen.setdefault((each.group_kind, name), each)
        if first is not each:
            raise CommandError(
                f"{each.located()}: {each} is given twice, first in {first.located()}: rename one"
                " of them, or remove it",
                ExitCode.WANTING,
            )


def _components(
    manifests: Sequence[Manifest], wrapping: Wrapping, allowed: AllowedKinds
) -> tuple[PackedComponent, ...]:
    declared = wrapping.pod_sets
    _refuse_unknown_helpers(manifests, wrapping.helpers)
    unknown = [each for each in manifests if _is_unknown(each, allowed)]
    for each in declared:
        if each.target and not any(each.names(manifest) for manifest in manifests):
            raise CommandError(f"--podset {each.target}:…: no object is a {each.target}")
    nameless = [each for each in declared if not each.target]
    chosen = unknown or list(manifests)
    if nameless and len(chosen) != 1:
        first = chosen[0]
        raise CommandError(
            f"several objects may need --podset ({', '.join(map(str, chosen))}). Name one of"
            f" them: --podset {first}:PATH=REPLICAS"
        )
    components = []
    for manifest in manifests:
        own = [each for each in declared if each.target and each.names(manifest)]
        if manifest is chosen[0]:
            own += nameless
        if manifest in unknown and not own:
            raise _needs_pod_sets(manifest)
        given = tuple(each.pod_set for each in own if each.pod_set is not None)
        components.append(
            PackedComponent(
                manifest,
                given or _inferred(manifest),
                bool(given),
                _annotations(manifest, wrapping.helpers),
            )
        )
    return tuple(components)


def _refuse_unknown_helpers(manifests: Sequence[Manifest], helpers: Sequence[str]) -> None:
    for each in helpers:
        if not any(_is_named(manifest, each) for manifest in manifests):
            raise CommandError(
                f"--helper {each}: no object has this name. The objects are"
                f" {few([str(manifest) for manifest in manifests])}"
            )


def _is_named(manifest: Manifest, text: str) -> bool:
    return text in (str(manifest), manifest.kind, manifest.name)


def _annotations(manifest: Manifest, helpers: Sequence[str]) -> dict[str, str]:
    """Return the component's annotations. Users often write them into the object itself."""
    own = {key: annotation(manifest.value, key) for key in (ANNOTATION_HELPER, ANNOTATION_KEEP)}
    found = {key: value for key, value in own.items() if value is not None}
    if any(_is_named(manifest, each) for each in helpers):
        found[ANNOTATION_HELPER] = "true"
    return found


def _inferred(manifest: Manifest) -> tuple[PodSet, ...]:
    """Return the pod sets that the webhook would declare. Its rules report errors in them later."""
    try:
        return pod_sets_to_declare(manifest.value) or ()
    except PodSetError:
        return ()


def _is_unknown(manifest: Manifest, allowed: AllowedKinds) -> bool:
    """True if the object may be wrapped but the operator does not know its pods."""
    if not is_listed(manifest.group_kind, allowed.wrapped):
        return False
    known = {*BY_GROUP_KIND, f"{APPWRAPPERS.group}/{APPWRAPPERS.kind}"}
    return manifest.group_kind not in known


def _needs_pod_sets(manifest: Manifest) -> CommandError:
    return CommandError(
        f"{manifest.located()}: the number of pods of a {manifest.group_kind} is unknown."
        f" Give the path of its pod template and the number of pods:"
        f" --podset {manifest}:template.spec.template=4."
        f" If it makes no pods: --podset {manifest}:none",
        ExitCode.WANTING,
    )
