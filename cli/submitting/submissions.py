"""Turn manifests and options into the AppWrappers to create."""

from collections.abc import Sequence
from dataclasses import dataclass

from cli.command import CommandError
from cli.manifests.manifest import Manifest
from cli.manifests.places import Place, way_in
from cli.packing.assembling import assemble
from cli.packing.wrapping import Wrapping
from cli.validation.report import Locate
from shared.api.names import ANNOTATION_HELPER
from shared.api.objects import APPWRAPPERS, JsonObject, metadata
from shared.config.configuration import AllowedKinds
from shared.waits.words import few

_APPWRAPPER = APPWRAPPERS.gvk.group_kind


@dataclass(frozen=True, slots=True)
class NewAppWrapper:
    """An AppWrapper to create. `locate`: finds the file and line, or the option, of a field."""

    body: JsonObject
    locate: Locate

    @property
    def name(self) -> str:
        """The name, or the generateName, for messages."""
        own = metadata(self.body)
        return str(own.get("name") or own.get("generateName") or "the AppWrapper")


def submissions(
    manifests: Sequence[Manifest], wrapping: Wrapping, allowed: AllowedKinds
) -> list[NewAppWrapper]:
    """Return the AppWrappers among the manifests, else one that wraps all of them.

    Raises CommandError for a mixture.
    """
    ready = [each for each in manifests if each.group_kind == _APPWRAPPER]
    if not ready:
        packed = assemble(manifests, wrapping, allowed)
        return [NewAppWrapper(packed.as_json(), packed.locate)]
    if others := [each for each in manifests if each.group_kind != _APPWRAPPER]:
        raise CommandError(
            f"{others[0].located()}: {others[0]} is beside an AppWrapper. Wrap it too, as one of"
            " its components, or create it with kubectl"
        )
    if wrapping.pod_sets:
        raise CommandError(
            f"--podset declares the pods of objects that are wrapped, and {ready[0].located()} is"
            " an AppWrapper already. Leave the option out, and write podSets into its component:"
            " kubectl explain appwrapper.spec.components.podSets"
        )
    if wrapping.helpers:
        raise CommandError(
            f"--helper marks one of the objects that are wrapped, and {ready[0].located()} is an"
            " AppWrapper already. Leave the option out, and write into its component:"
            f' annotations: {{{ANNOTATION_HELPER}: "true"}}'
        )
    if wrapping.name and len(ready) > 1:
        raise CommandError(
            f"--name {wrapping.name} names one AppWrapper, and there are {len(ready)}:"
            f" {few([each.located() for each in ready])}. Leave the option out, or submit each"
            " from a file of its own"
        )
    return [_with_options(each, wrapping) for each in ready]


def _with_options(manifest: Manifest, wrapping: Wrapping) -> NewAppWrapper:
    """Return a user's AppWrapper; options take precedence over its metadata."""
    own = metadata(manifest.value)
    stated = own.get("namespace")
    if wrapping.namespace and stated not in (None, "", wrapping.namespace):
        raise CommandError(
            f"{manifest.located(('metadata', 'namespace'))}: {manifest} names namespace {stated},"
            f" and --namespace is {wrapping.namespace}"
        )
    changed: JsonObject = dict(own)
    if wrapping.name:
        changed["name"] = wrapping.name
        changed.pop("generateName", None)
    if wrapping.namespace:
        changed["namespace"] = wrapping.namespace
    for field, added in (("labels", wrapping.labels), ("annotations", wrapping.annotations)):
        if added:
            present = own.get(field)
            changed[field] = {**(present if isinstance(present, dict) else {}), **added}

    def locate(path: str) -> tuple[str, Place | None]:
        if path in wrapping.origins:
            return wrapping.origins[path], None
        return manifest.source, manifest.place(way_in(manifest.value, path))

    return NewAppWrapper({**manifest.value, "metadata": changed}, locate)
