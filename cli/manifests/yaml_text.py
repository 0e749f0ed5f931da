"""Read YAML as kubectl does, with the place of each key and element. Pure.

PyYAML parses; kubectl has the same grammar, because both come from libyaml. `scalars` reads the
scalars. Duplicate keys are rejected; kubectl silently uses the last one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from cli.manifests.places import ManifestError, Place, Way
from cli.manifests.scalars import ScalarError, plain_value, tagged_value
from shared.api.objects import JsonValue

# libyaml if this PyYAML includes it: twenty times as fast. A test compares both.
_PARSER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Readers recurse into values. No valid AppWrapper is nested as deep.
_DEEPEST: Final = 200
# Values, with all aliases expanded: a few lines of YAML can expand to billions of values.
_MOST_VALUES: Final = 1_000_000
_MERGE: Final = "<<"
_ITEMS: Final = "items"


class NotYaml(ManifestError):
    """The text violates YAML's grammar, not only a rule of kubectl or of this module."""


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a mapping, counted from 0. `last`: the last line with a part of it."""

    way: Way
    first: int
    column: int
    last: int
    # The column of the end in that line; None for a block, which includes the whole line.
    end: int | None


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a stream. `value`: None for a document that contains only comments.

    `spans`: of the document itself and of the items of a List, in their order. `begin`, `end`: the
    lines of the document, comments included, counted from 0.
    """

    value: JsonValue
    places: dict[Way, Place]
    spans: tuple[Span, ...]
    begin: int
    end: int


def parse_yaml(text: str, parser: Any = _PARSER) -> list[YamlDocument]:
    """Return every document of a stream. Raises ManifestError."""
    try:
        return list(_Reader(yaml.parse(text, Loader=parser)).documents())
    except yaml.MarkedYAMLError as error:
        words = ", ".join(filter(None, (error.context, error.problem)))
        raise NotYaml(f"this is not YAML: {words}", _marked(error.problem_mark)) from error
    except yaml.reader.ReaderError as error:
        raise NotYaml(f"this is not YAML: {error.reason}", _at(text, error)) from error
    except yaml.YAMLError as error:
        raise NotYaml(f"this is not YAML: {error}") from error


def _at(text: str, error: yaml.reader.ReaderError) -> Place | None:
    if not isinstance(error.position, int):
        return None
    before = text[: error.position]
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _marked(mark: Any) -> Place | None:
    return None if mark is None else Place(mark.line + 1, mark.column + 1)


@dataclass(slots=True)
class _Anchored:
    """The value of an anchor. `count`: the number of values in it.

    `complete`: False while the value itself is read; an alias there would contain itself.
    """

    value: JsonValue
    count: int
    complete: bool = False


@dataclass(slots=True)
class _Reader:
    events: Iterator[Any]
    places: dict[Way, Place] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    count: int = 0
    last: Any = None  # the previous event that is not the end of a block

    def documents(self) -> Iterator[YamlDocument]:
        begin = 0
        for event in self.events:
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            self.places, self.spans, self.anchors, self.count = {}, [], {}, 0
            value = self.value((), next(self.events))
            ended = next(self.events)
            end = ended.start_mark.line if ended.explicit else ended.end_mark.line
            self.spans.sort(key=lambda span: span.first)
            yield YamlDocument(value, self.places, tuple(self.spans), begin, end)
            begin = end

    def value(self, way: Way, event: Any) -> JsonValue:
        """Read the value that begins with this event."""
        self.places.setdefault(way, Place(event.start_mark.line + 1, event.start_mark.column + 1))
        self._counted(event, 1)
        if isinstance(event, yaml.AliasEvent):
            self.last = event
            return self._alias(event)
        before, anchored = self.count, _Anchored(None, 0)
        if event.anchor is not None:
            self.anchors[event.anchor] = anchored
        if isinstance(event, yaml.ScalarEvent):
            self.last = event
            value = _scalar(event)
        else:
            if len(way) > _DEEPEST:
                raise ManifestError("this is nested too deep", _marked(event.start_mark))
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            value = self._mapping(way, event) if is_mapping else self._sequence(way)
        anchored.value, anchored.count, anchored.complete = value, self.count - before + 1, True
        return value

    def _alias(self, event: Any) -> JsonValue:
        known = self.anchors.get(event.anchor)
        if known is None:
            text = f"*{event.anchor} names no anchor of this document"
            raise ManifestError(text, _marked(event.start_mark))
        if not known.complete:
            text = f"*{event.anchor} refers to a value that contains it"
            raise ManifestError(text, _marked(event.start_mark))
        self._counted(event, known.count)
        return known.value

    def _counted(self, event: Any, count: int) -> None:
        self.count += count
        if self.count > _MOST_VALUES:
            text = f"its aliases expand to more than {_MOST_VALUES} values"
            raise ManifestError(text, _marked(event.start_mark))

    def _sequence(self, way: Way) -> JsonValue:
        found: list[JsonValue] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                self._ended(event)
                break
            found.append(self.value((*way, len(found)), event))
        return found

    def _mapping(self, way: Way, start: Any) -> JsonValue:
        found: dict[str, JsonValue] = {}
        written: set[str] = set()
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                self._ended(event)
                if all(isinstance(step, int) or step == _ITEMS for step in way):
                    self.spans.append(self._span(way, start, event))
                break
            if _is_merge(event):
                self._merge(way, event, found)
                continue
            key = _key(event)
            if key in written:
                text = (
                    f"the key {key!r} is given twice, first in line {self.places[*way, key].line}"
                )
                raise ManifestError(text, _marked(event.start_mark))
            written.add(key)
            self.places[*way, key] = Place(event.start_mark.line + 1, event.start_mark.column + 1)
            found[key] = self.value((*way, key), next(self.events))
        return found

    def _merge(self, way: Way, event: Any, into: dict[str, JsonValue]) -> None:
        """Merge as kubectl does: in the order of the text. The first of several mappings wins.

        Merged keys have the place of the merge.
        """
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        merged = self.value((*way, _MERGE), next(self.events))
        for each in reversed(merged) if isinstance(merged, list) else [merged]:
            if not isinstance(each, dict):
                raise ManifestError("<< merges mappings only", place)
            into.update(each)
            self.places.update(dict.fromkeys([(*way, key) for key in each], place))

    def _ended(self, event: Any) -> None:
        # The end of a block is the begin of the next token; only a closing bracket has a length.
        if event.end_mark.index > event.start_mark.index:
            self.last = event

    def _span(self, way: Way, start: Any, end: Any) -> Span:
        begin = start.start_mark
        if start.flow_style:
            return Span(way, begin.line, begin.column, end.end_mark.line, end.end_mark.column)
        mark = self.last.end_mark
        last = mark.line if mark.column else mark.line - 1
        return Span(way, begin.line, begin.column, last, None)


def _is_merge(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == _MERGE and event.implicit[0]


def _scalar(event: Any) -> JsonValue:
    try:
        if event.tag is not None and event.tag != "!":
            return tagged_value(event.tag, event.value)
        return plain_value(event.value) if event.implicit[0] else event.value
    except ScalarError as error:
        raise ManifestError(str(error), _marked(event.start_mark)) from error


def _key(event: Any) -> str:
    """Return the key as text: kubectl converts numbers and booleans."""
    value = _scalar(event) if isinstance(event, yaml.ScalarEvent) else None
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
    raise ManifestError("a key must be text", _marked(event.start_mark))
