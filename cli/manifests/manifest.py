"""The objects in users' manifests, with their places in the text. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cli.manifests.excerpts import excerpts
from cli.manifests.json_text import parse_json
from cli.manifests.places import ManifestError, Place, Way, place_of
from cli.manifests.yaml_text import ManifestDocument, NotYaml, parse_yaml
from shared.api.objects import GroupVersionKind, JsonObject, JsonValue, metadata, type_of

_LIST: Final = "List"
_ITEMS: Final = "items"


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object, as kubectl would send it.

    `source`: the file as the user named it. `root`: the way from the document to the object, which
    may be an item of a List. `text`: the YAML as it was written; None for JSON and for an alias.
    """

    source: str
    value: JsonObject
    places: Mapping[Way, Place]
    root: Way
    text: str | None

    def place(self, way: Way = ()) -> Place:
        """Return the place of a part of the object, or of the nearest part around it."""
        return place_of(self.places, (*self.root, *way)) or Place(1, 1)

    def located(self, way: Way = ()) -> str:
        """Return `FILE:LINE`, the beginning of messages."""
        return f"{self.source}:{self.place(way).line}"

    @property
    def name(self) -> str:
        """The object's name, else its generateName, else ""."""
        found = metadata(self.value)
        name = found.get("name") or found.get("generateName")
        return name if isinstance(name, str) else ""

    @property
    def kind(self) -> str:
        """The object's Kind, or ""."""
        found = self.value.get("kind")
        return found if isinstance(found, str) else ""

    @property
    def group_kind(self) -> str:
        """`group/Kind`, or `Kind` in the core group."""
        version = self.value.get("apiVersion")
        return GroupVersionKind.of(
            version if isinstance(version, str) else "", self.kind
        ).group_kind

    def __str__(self) -> str:
        return f"{self.kind or 'object'}/{self.name}" if self.name else self.kind or "object"


def manifests_of(text: str, source: str) -> list[Manifest]:
    """Return all objects of a YAML or JSON text, with the items of Lists. Raises ManifestError."""
    if not text.lstrip().startswith("{"):
        return _located(text, source, parse_yaml(text))
    try:
        return _located(None, source, parse_json(text))
    except ManifestError as not_json:
        if source.endswith(".json"):
            raise
        try:
            return _located(text, source, parse_yaml(text))
        except NotYaml as error:
            raise not_json from error


def _located(
    text: str | None, source: str, documents: Sequence[ManifestDocument]
) -> list[Manifest]:
    """Return the objects in the documents. `text`: the YAML to copy from; None for JSON."""
    found = [
        (document, root, value)
        for document in documents
        for root, value in _objects(document.value, (), document.places)
    ]
    spans = [document.spans[root] for document, root, _ in found if root in document.spans]
    texts: list[str] | list[None] = [None] * len(found)
    if text is not None and len(spans) == len(found):  # an alias has no text of its own
        texts = excerpts(text, documents, spans)
    return [
        Manifest(source, value, document.places, root, own)
        for (document, root, value), own in zip(found, texts, strict=True)
    ]


def _objects(
    value: JsonValue, way: Way, places: Mapping[Way, Place]
) -> Iterator[tuple[Way, JsonObject]]:
    """Yield the document's object, or the items if it is a List, at any depth."""
    if value is None:
        return
    if not isinstance(value, dict):
        text = f"{type_of(value)} is no object of Kubernetes: a mapping with kind is expected"
        raise ManifestError(text, place_of(places, way))
    if not _is_list(value):
        yield way, value
        return
    for index, item in enumerate(value.get(_ITEMS) or ()):
        yield from _objects(item, (*way, _ITEMS, index), places)


def _is_list(value: JsonObject) -> bool:
    """True for a List, and for a PodList or similar Kind, as kubectl decides it."""
    kind = value.get("kind")
    if kind == _LIST:
        return isinstance(value.get(_ITEMS), list | None)
    is_called_so = isinstance(kind, str) and kind.endswith(_LIST)
    return is_called_so and isinstance(value.get(_ITEMS), list)
