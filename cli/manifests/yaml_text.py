"""Read YAML as kubectl does, with the place of each key and element. Pure.

ruamel.yaml parses, with the grammar of YAML 1.1, as kubectl does. `scalars` reads the scalars.
Duplicate keys are rejected; kubectl silently uses the last one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

from cli.manifests.places import ManifestError, Place, Way
from cli.manifests.scalars import ScalarError, plain_value, tagged_value
from shared.api.objects import JsonValue

# Readers recurse into values. No valid AppWrapper is nested as deep.
_DEEPEST: Final = 200
# Values, with all aliases expanded: a few lines of YAML can expand to billions of values.
_MOST_VALUES: Final = 1_000_000
_MERGE: Final = ("<<", True)  # without quotes
_ITEMS: Final = "items"


class NotYaml(ManifestError):
    """The text violates YAML's grammar, not only a rule of kubectl or of this module."""


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a mapping, counted from 0. `last`: the last line with a part of it."""

    first: int
    column: int
    last: int
    # The column of the end in that line; None for a block, which includes the whole line.
    end: int | None


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One document of a stream. `value`: None for a document that contains only comments.

    `spans`: of the document itself and of the items of a List. `end`: the line after the document,
    comments included, counted from 0.
    """

    value: JsonValue
    places: dict[Way, Place]
    spans: dict[Way, Span]
    end: int


def parse_yaml(text: str) -> list[ManifestDocument]:
    """Return every document of a stream, as kubectl reads it. Raises ManifestError."""
    return YamlReader().documents(text)


def place_at(mark: Any) -> Place:
    """Return the place of a mark of ruamel.yaml, which counts from 0."""
    return Place(mark.line + 1, mark.column + 1)


def _wrong(text: str, event: Any) -> ManifestError:
    return ManifestError(text, place_at(event.start_mark))


@dataclass(slots=True)
class _Anchored:
    """The value of an anchor. `count`: the number of values in it.

    `complete`: False while the value itself is read; an alias there would contain itself.
    """

    value: JsonValue
    count: int
    complete: bool = False


class _Scanner(Scanner):
    """Accepts tabs where kubectl's reader does: between tokens of one line, and in brackets."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.reader.forward()
            super().scan_to_next_token()


class JsonScanner(_Scanner):
    """Accepts in brackets keys of any length, and their colon in a later line."""

    def stale_possible_simple_keys(self) -> None:
        # Enclosing brackets may become stale: they are no keys, and would keep all tokens waiting.
        kept = self.possible_simple_keys.pop(self.flow_level, None) if self.flow_level else None
        super().stale_possible_simple_keys()
        if kept is not None:
            self.possible_simple_keys[self.flow_level] = kept


@dataclass(slots=True)
class YamlReader:
    """Reads values as kubectl does. A subclass may read scalars and keys in another way."""

    scanner: ClassVar[type[Scanner]] = _Scanner
    version: ClassVar[tuple[int, int]] = (1, 1)
    # kubectl goes by the order of the text: keys after << replace merged ones, those before do not.
    own_keys_win: ClassVar[bool] = False

    events: Iterator[Any] = field(default_factory=lambda: iter(()))
    resolver: Any = None
    places: dict[Way, Place] = field(default_factory=dict)
    spans: dict[Way, Span] = field(default_factory=dict)
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    count: int = 0
    last: Any = None  # the previous event that is not the end of a block

    def documents(self, text: str) -> list[ManifestDocument]:
        """Return every document of a stream. Raises ManifestError."""
        yaml = YAML(typ="safe", pure=True)
        yaml.version = self.version
        yaml.Scanner = self.scanner
        try:
            self.events = yaml.parse(text)
            self.resolver = yaml.resolver
            return list(self._documents())
        except MarkedYAMLError as error:
            details = ", ".join(filter(None, (error.context, error.problem)))
            place = place_at(error.problem_mark) if error.problem_mark else None
            raise NotYaml(f"this is not YAML: {details}", place) from error
        except ReaderError as error:
            before = text[: error.position]
            place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
            raise NotYaml(f"this is not YAML: {error.reason}", place) from error
        except YAMLError as error:
            raise NotYaml(f"this is not YAML: {error}") from error

    def _documents(self) -> Iterator[ManifestDocument]:
        for event in self.events:
            if not isinstance(event, events.DocumentStartEvent):
                continue
            self.places, self.spans, self.anchors, self.count = {}, {}, {}, 0
            value = self._value((), next(self.events))
            ended = next(self.events)
            end = ended.start_mark.line if ended.explicit else ended.end_mark.line
            yield ManifestDocument(value, self.places, self.spans, end)

    def _value(self, way: Way, event: Any) -> JsonValue:
        """Read the value that begins with this event."""
        self.places.setdefault(way, place_at(event.start_mark))
        self._counted(event, 1)
        if isinstance(event, events.AliasEvent):
            self.last = event
            return self._alias(event)
        before, anchored = self.count, _Anchored(None, 0)
        if event.anchor is not None:
            self.anchors[event.anchor] = anchored
        if isinstance(event, events.ScalarEvent):
            self.last = event
            value = self.located_scalar(event)
        else:
            if len(way) > _DEEPEST:
                raise _wrong("this is nested too deep", event)
            is_mapping = isinstance(event, events.MappingStartEvent)
            value = self._mapping(way, event) if is_mapping else self._sequence(way)
        anchored.value, anchored.count, anchored.complete = value, self.count - before + 1, True
        return value

    def _alias(self, event: Any) -> JsonValue:
        known = self.anchors.get(event.anchor)
        if known is None:
            raise _wrong(f"*{event.anchor} names no anchor of this document", event)
        if not known.complete:
            raise _wrong(f"*{event.anchor} refers to a value that contains it", event)
        self._counted(event, known.count)
        return known.value

    def _counted(self, event: Any, count: int) -> None:
        self.count += count
        if self.count > _MOST_VALUES:
            raise _wrong(f"its aliases expand to more than {_MOST_VALUES} values", event)

    def _sequence(self, way: Way) -> JsonValue:
        found: list[JsonValue] = []
        for event in self.events:
            if isinstance(event, events.SequenceEndEvent):
                self._ended(event)
                break
            found.append(self._value((*way, len(found)), event))
        return found

    def _mapping(self, way: Way, start: Any) -> JsonValue:
        found: dict[str, JsonValue] = {}
        written: set[str] = set()
        for event in self.events:
            if isinstance(event, events.MappingEndEvent):
                self._ended(event)
                if all(isinstance(step, int) or step == _ITEMS for step in way):
                    self.spans[way] = self._span(start, event)
                break
            if isinstance(event, events.ScalarEvent) and (event.value, event.implicit[0]) == _MERGE:
                self._merge(way, event, found, written)
                continue
            key = self.key(event)
            if key in written:
                first = self.places[*way, key].line
                raise _wrong(f"the key {key!r} is given twice, first in line {first}", event)
            written.add(key)
            self.places[*way, key] = place_at(event.start_mark)
            found[key] = self._value((*way, key), next(self.events))
        return found

    def _merge(self, way: Way, event: Any, into: dict[str, JsonValue], written: set[str]) -> None:
        """Merge as kubectl does: in the order of the text. The first of several mappings wins.

        Merged keys have the place of the merge.
        """
        place = place_at(event.start_mark)
        merged = self._value((*way, "<<"), next(self.events))
        for each in reversed(merged) if isinstance(merged, list) else [merged]:
            if not isinstance(each, dict):
                raise _wrong("<< merges mappings only", event)
            new = {k: v for k, v in each.items() if not (self.own_keys_win and k in written)}
            into.update(new)
            self.places.update(dict.fromkeys([(*way, key) for key in new], place))

    def _ended(self, event: Any) -> None:
        # The end of a block is the begin of the next token; only a closing bracket has a length.
        if event.end_mark.index > event.start_mark.index:
            self.last = event

    def _span(self, start: Any, end: Any) -> Span:
        begin = start.start_mark
        if start.flow_style:
            return Span(begin.line, begin.column, end.end_mark.line, end.end_mark.column)
        mark = self.last.end_mark
        last = mark.line if mark.column else mark.line - 1
        return Span(begin.line, begin.column, last, None)

    def scalar(self, event: Any) -> JsonValue:
        """Return the value of a scalar. Raises ScalarError, UnicodeError."""
        event.value.encode()  # kubectl refuses surrogates
        if event.tag is not None and event.tag != "!":
            return tagged_value(event.tag, event.value)
        return plain_value(event.value) if event.implicit[0] else event.value

    def key(self, event: Any) -> str:
        """Return the key as text: kubectl converts numbers and booleans."""
        value = self.located_scalar(event) if isinstance(event, events.ScalarEvent) else None
        if isinstance(value, str):
            return value
        if isinstance(value, int):
            return str(value).lower()  # true, false
        raise _wrong("a key must be text", event)

    def located_scalar(self, event: Any) -> JsonValue:
        """Return the value of a scalar. Raises ManifestError with its place."""
        try:
            return self.scalar(event)
        except (UnicodeEncodeError, UnicodeDecodeError) as error:
            is_half = isinstance(error, UnicodeDecodeError)
            reason = "half a surrogate pair" if is_half else error.reason
            raise NotYaml(f"this is not YAML: {reason}", place_at(event.start_mark)) from error
        except ScalarError as error:
            raise _wrong(str(error), event) from error
