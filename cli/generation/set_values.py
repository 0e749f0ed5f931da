"""Parse `--set` and `--set-string` in Helm's syntax: `a.b=c,list[0].key=d,items={x,y}`.

A backslash removes the special meaning of the next character: `labels.a\\.b=c` sets the key `a.b`.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cli.generation.parsed_values import Number, Origin, ParsedValues, Path, UnreadableValues

_LARGEST_INDEX: Final = 65_536  # Helm's own limit
_WORDS: Final = {"true": True, "false": False, "null": None}
_WHOLE: Final = re.compile("0|(?!0)[+-]?[0-9]+")

_Scalar: TypeAlias = str | Number | bool | None


def apply(root: ParsedValues, text: str, option: str) -> ParsedValues:
    """Return `root` with the assignments in `text`. Raises UnreadableValues.

    `option`: --set reads numbers, true, false and null; --set-string reads only texts.
    """
    scanner = _Scanner(text, option)
    value, origins = root.value, dict(root.origins)
    while scanner.rest:
        path = scanner.path()
        value = _assigned(value, path, scanner.value())
        origins = {way: each for way, each in origins.items() if way[: len(path)] != path}
        origins[path] = Origin(option)
        for end, step in enumerate(path):
            if isinstance(step, int) or path[:end] not in origins:  # a list may replace a text
                origins[path[:end]] = Origin(option)
    return ParsedValues(value, origins)


def _assigned(old: Any, path: Path, value: Any) -> Any:
    """Return `old` with `value` at `path`. Values of another type on the path are replaced."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        items = list(old) if isinstance(old, list) else []
        items += [None] * (first + 1 - len(items))
        items[first] = _assigned(items[first], tuple(rest), value)
        return items
    mapping = dict(old) if isinstance(old, dict) else {}
    mapping[first] = _assigned(mapping.get(first), tuple(rest), value)
    return mapping


@dataclass(slots=True)
class _Scanner:
    """Reads a text from its beginning. `rest`: the text that is not read yet."""

    rest: str
    option: str

    def path(self) -> Path:
        """Read a key up to its `=`."""
        whole, path = self.rest, list[str | int]()
        while True:
            key, end = self._until(".[=,")
            if key:
                path.append(key)
            elif not path or (end != "[" and not isinstance(path[-1], int)):
                raise self._wrong(whole, "a key is empty")
            while end == "[":
                path.append(self._index(whole))
                end, self.rest = self.rest[:1], self.rest[1:]
            if end == "=":
                return tuple(path)
            if end != ".":
                raise self._wrong(whole, "there is no = after the key")

    def value(self) -> _Scalar | list[_Scalar]:
        """Read a value and the comma after it."""
        if not self.rest.startswith("{"):
            return self._typed(self._until(",")[0])
        whole, self.rest = self.rest, self.rest[1:]
        items = list[_Scalar]()
        while True:
            item, end = self._until(",}")
            if item or end == "," or items:
                items.append(self._typed(item))
            if not end:
                raise self._wrong(whole, "the list has no } at its end")
            if end == "}":
                break
        if self.rest and not self.rest.startswith(","):
            raise self._wrong(whole, "there is no comma after the list")
        self.rest = self.rest[1:]
        return items

    def _index(self, whole: str) -> int:
        text, end = self._until("]")
        if end and text.isdecimal() and int(text) <= _LARGEST_INDEX:
            return int(text)
        raise self._wrong(whole, f"the index must be a number from 0 to {_LARGEST_INDEX}")

    def _until(self, stops: str) -> tuple[str, str]:
        """Read up to one of `stops`; return the text without escapes, and the stop if any."""
        stop = f"[{re.escape(stops)}]"
        found = re.compile(rf"((?:\\.|(?!{stop}).)*)({stop}?)", re.DOTALL).match(self.rest)
        assert found  # it also matches nothing
        self.rest = self.rest[found.end() :]
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), found[2]

    def _typed(self, text: str) -> _Scalar:
        """Read numbers as Helm does: texts with a leading zero and fractions are no numbers."""
        if self.option != "--set":
            return text
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        return Number(text) if _WHOLE.fullmatch(text) else text

    def _wrong(self, rest: str, problem: str) -> UnreadableValues:
        return UnreadableValues(
            f"{self.option} {rest}: {problem}; write KEY=VALUE, such as numPods=4"
            " or volumes[0].claimName=data"
        )
