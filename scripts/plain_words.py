"""A rule of `make lint`: no expression of plain_words.toml in texts, pages, comments, tests' names.

Each match is reported with what to write instead.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

PATTERNS: Final = Path(__file__).with_suffix(".toml")
_PRODUCT: Final = ("cli/", "controller/", "shared/", "webhook/", "worker/")
# Decisions are history, which is never rewritten.
_HISTORY: Final = "docs/decisions/"
_DEFINITIONS: Final = "deploy/manifests/crd/"
# Calls whose texts no user reads: debug logs, regular expressions, errors that mean a defect.
_UNREAD: Final = (
    *("debug", "info", "compile"),
    *("AssertionError", "NotImplementedError", "TypeError"),
)
# Questions and labels of up to four words may begin with any word.
_BEGIN: Final = r"(?:\A|(?<=[.!?])[\s*_)\"]+)"
_END: Final = r"(?=[\s_*)\"]|\Z)"
_STATEMENT: Final = rf"(?=(?:(?![.!?]{_END}).)*[.!:]{_END}|(?:\s+[^\s?]+){{4,}}\Z)"


class Pattern(NamedTuple):
    find: re.Pattern[str]
    write: str


class Passage(NamedTuple):
    """A text that people read, and the line on which it begins."""

    line: int
    text: str


@cache
def patterns() -> Sequence[Pattern]:
    """Read the patterns. A space in one matches any white space."""
    return [_pattern(**each) for each in tomllib.loads(PATTERNS.read_text())["pattern"]]


def _pattern(find: str, write: str, opening: bool = False) -> Pattern:
    spaced = find.replace(" ", r"\s+")
    words = rf"(?<![\w.`/-])(?:{spaced})(?![\w/-])"
    if opening:
        return Pattern(re.compile(f"{_BEGIN}{words}{_STATEMENT}", re.DOTALL), write)
    return Pattern(re.compile(words, re.IGNORECASE), write)


def offences(path: str, source: str) -> Iterator[str]:
    """Yield the expressions to avoid in one file, as `file:line: what to write`."""
    for line, text in texts_of(path, source):
        for find, write in patterns():
            for match in find.finditer(text):
                found = match.group().strip(' \n*_)"')
                begin = match.end() - len(found)
                place = line + text.count("\n", 0, begin)
                yield f'{path}:{place}: "{" ".join(found.split())}": write {write}'


def texts_of(path: str, source: str) -> Iterator[Passage]:
    """Return the texts of one file that this check covers."""
    is_page = path.endswith(".md") and not path.startswith(_HISTORY)
    if is_page or (path.endswith(".yaml") and path.startswith(_DEFINITIONS)):
        yield from _page(source)
    elif path.endswith(".py"):
        tree = ast.parse(source)
        yield from _names_of_tests(tree)
        if path.startswith("tests/simulation/") or not path.startswith("tests/"):
            yield from _docstrings(tree)
            yield from _comments(source)
        if path.startswith(_PRODUCT):
            yield from _literals(tree)


def _names_of_tests(tree: ast.Module) -> Iterator[Passage]:
    """Return the names of test functions as sentences."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_test, _, name = node.name.partition("test_")
            if not is_test and name:
                yield Passage(node.lineno, f"{name.replace('_', ' ').capitalize()}.")


def _docstrings(tree: ast.Module) -> Iterator[Passage]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                yield Passage(line, _without_code(text))
            case _:
                pass


def _comments(source: str) -> Iterator[Passage]:
    """Return the comments; those on successive lines are one text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    # On successive lines, line and index differ by the same number.
    for _, block in groupby(enumerate(comments), lambda each: each[1].start[0] - each[0]):
        lines = [comment for _, comment in block]
        text = "\n".join(each.string.lstrip("# ") for each in lines)
        yield Passage(lines[0].start[0], _without_code(text))


def _literals(node: ast.AST) -> Iterator[Passage]:
    """Return the strings of several words, except where no user reads them."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Assert():
            return
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _UNREAD:
            return
        case ast.Constant(value=str(text), lineno=line) if len(text.split()) > 1:
            yield Passage(line, text)
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _literals(child)


_FENCED: Final = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^ *#.*", re.MULTILINE)
_ITEM: Final = r" *(?:[-*+]|\d+\.|>) +"
# A paragraph, an item, or the cell of a table.
_BLOCK: Final = re.compile(
    rf"^(?:{_ITEM})?(?P<text>[^\n|]+(?:\n(?!{_ITEM}| *\n|\|)[^\n|]+)*)|\| *(?P<cell>[^|\n]+)",
    re.MULTILINE,
)
_CODE: Final = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>\n]+>")


def _page(source: str) -> Iterator[Passage]:
    """Return the paragraphs, items and cells of a page, without code and quoted output."""
    prose = _without_code(_HEADING.sub("", _FENCED.sub(_blank, source)))
    for block in _BLOCK.finditer(prose):
        name = block.lastgroup or "text"
        yield Passage(1 + prose.count("\n", 0, block.start(name)), block[name].strip())


def _without_code(text: str) -> str:
    """Replace code, links and placeholders by something that is no word."""
    return _CODE.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "_", match.group())
