"""Compares texts, pages, docstrings, comments and names of tests with the vocabulary to avoid.

`python -m scripts.plain_words` fails on a file with more matches than plain_words_baseline.json
allows. It fails on a file with fewer, too: `--lower` lowers the counts. `--list PATH…` prints all
matches in files whose path begins so. The patterns are in plain_words.toml.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

_FOLDER: Final = Path(__file__).parent
PATTERNS: Final = _FOLDER / "plain_words.toml"
BASELINE: Final = _FOLDER / "plain_words_baseline.json"

_PRODUCT: Final = ("cli", "controller", "shared", "webhook", "worker")
# All pages are checked except these: decisions are history, which is never rewritten.
_HISTORY: Final = "docs/decisions/"
_DEFINITIONS: Final = "deploy/manifests/crd/"

# Calls whose texts no user reads at the default log level, and patterns.
_UNREAD: Final = ("debug", "info", "compile")
# An error of these classes is a defect in the program.
_DEFECTS: Final = ("AssertionError", "NotImplementedError", "TypeError")
_TEST: Final = "test_"
_PLACEHOLDER: Final = "…"
_LONGEST_SHOWN: Final = 100
_LONGEST_LABEL: Final = 4  # words


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expression to avoid. `opening`: at the beginning of a sentence only."""

    find: re.Pattern[str]
    write: str
    opening: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A text that users read, and the line on which it begins."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """One use of an expression to avoid."""

    line: int
    found: str
    sentence: str
    write: str

    def shown(self, path: str) -> str:
        """Return the match as `file:line: …`, with what to write instead."""
        sentence = " ".join(self.sentence.split())
        if len(sentence) > _LONGEST_SHOWN:
            sentence = f"{sentence[:_LONGEST_SHOWN]}…"
        return f'{path}:{self.line}: "{self.found}" in "{sentence}": write {self.write}'


def patterns(path: Path = PATTERNS) -> list[Pattern]:
    """Read the patterns. A space in one matches any white space."""
    entries = tomllib.loads(path.read_text())["pattern"]
    return [_pattern(each["find"], each["write"], each.get("opening", False)) for each in entries]


def _pattern(find: str, write: str, opening: bool) -> Pattern:
    flags = re.NOFLAG if opening else re.IGNORECASE
    spaced = find.replace(" ", r"\s+")
    return Pattern(re.compile(rf"(?<![\w.`/-])(?:{spaced})(?![\w/-])", flags), write, opening)


def matches(text: Text, avoided: Iterable[Pattern]) -> Iterator[Match]:
    """Find the expressions to avoid in one text; each place once, by the first pattern."""
    seen: set[int] = set()
    for pattern in avoided:
        for match in pattern.find.finditer(text.text):
            begin, sentence = _sentence(text.text, match.start())
            if pattern.opening and (match.start() != begin or not _is_statement(sentence)):
                continue
            if seen.isdisjoint(range(match.start(), match.end())):
                seen.update(range(match.start(), match.end()))
                line = text.line + text.text.count("\n", 0, match.start())
                found = " ".join(match.group().split())
                yield Match(line, found, sentence, pattern.write)


def _is_statement(sentence: str) -> bool:
    """True if it is no question and no label, such as the head of a column."""
    if sentence.endswith("?"):
        return False
    return sentence.endswith((".", ":")) or len(sentence.split()) > _LONGEST_LABEL


_ENDS: Final = re.compile(r"(?<=[.!?])[\s*_)\"]+|\Z")


def _sentence(text: str, place: int) -> tuple[int, str]:
    """Return where the sentence around a place begins, and the sentence."""
    begin = 0
    for end in _ENDS.finditer(text):
        if end.end() > place:
            break
        begin = end.end()
    while begin < place and text[begin] in " \n*_#>(":
        begin += 1
    return begin, text[begin : end.start()]


def texts_of(path: str, source: str) -> Iterator[Text]:
    """Return the texts of one file that this check covers."""
    if path.endswith(".py"):
        return texts_of_module(source, is_product=path.partition("/")[0] in _PRODUCT)
    return texts_of_definition(source) if path.endswith(".yaml") else texts_of_page(source)


def texts_of_module(source: str, *, is_product: bool) -> Iterator[Text]:
    """Return docstrings, comments and names of tests; of the product also what users read."""
    tree = ast.parse(source)
    yield from _names_of_tests(tree)
    yield from _docstrings(tree)
    yield from _comments(source)
    if is_product:
        yield from _literals(tree)


def _names_of_tests(tree: ast.Module) -> Iterator[Text]:
    """Return the names of test functions as sentences."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(_TEST):
            words = node.name.removeprefix(_TEST).replace("_", " ")
            yield Text(node.lineno, f"{words.capitalize()}.")


def _docstrings(tree: ast.Module) -> Iterator[Text]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                yield Text(line, _bare(text))
            case _:
                pass


def _comments(source: str) -> Iterator[Text]:
    """Return the comments; those on successive lines are one text."""
    block: list[str] = []
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if block and line != first + len(block):
                yield Text(first, _bare("\n".join(block)))
                block = []
            first = line - len(block)
            block.append(token.string.lstrip("# "))
    if block:
        yield Text(first, _bare("\n".join(block)))


def _literals(node: ast.AST) -> Iterator[Text]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if (
            name in _UNREAD or name in _DEFECTS
        ):
            return
        case ast.Assert():
            return
        case (ast.Constant(value=str()) | ast.JoinedStr()) as literal:
            text = _read(literal)
            if len(text.split()) > 1:
                yield Text(literal.lineno, text)
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        if not isinstance(node, ast.JoinedStr) or isinstance(child, ast.FormattedValue):
            yield from _literals(child)


def _read(literal: ast.Constant | ast.JoinedStr) -> str:
    """Return a literal with placeholders in place of its values."""
    if isinstance(literal, ast.Constant):
        return str(literal.value)
    parts = literal.values
    return "".join(
        _read(each) if isinstance(each, ast.Constant) else _PLACEHOLDER for each in parts
    )


def texts_of_definition(source: str) -> Iterator[Text]:
    """Return the descriptions in a manifest."""
    for document in yaml.compose_all(source, yaml.SafeLoader):
        yield from _descriptions(document)


def _descriptions(node: yaml.Node | None) -> Iterator[Text]:
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _descriptions(each)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "description" and isinstance(value, yaml.ScalarNode):
                yield Text(value.start_mark.line + 1, value.value)
            yield from _descriptions(value)


_FENCE: Final = re.compile(r"^ *(?:```|~~~)")
_CODE: Final = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>\n]+>")
_NEW_BLOCK: Final = re.compile(r"^ *(?:[-*+]|\d+\.) +|^ *#+ |^ *> ?")
_HEADING: Final = re.compile(r"^ *#")


def texts_of_page(source: str) -> Iterator[Text]:
    """Return the paragraphs, items and cells of a page, without code and quoted output."""
    block: list[str] = []
    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        is_fence = _FENCE.match(line) is not None
        is_table = line.startswith("|")
        if is_fence or is_code or is_table or not line.strip() or _NEW_BLOCK.match(line):
            yield from _block(number - len(block), block)
            block = []
        if is_table and not is_code:
            yield from (Text(number, _bare(cell).strip()) for cell in line.strip("|").split("|"))
        elif not (is_fence or is_code or _HEADING.match(line)) and line.strip():
            block.append(_NEW_BLOCK.sub("", line))
        is_code ^= is_fence
    yield from _block(len(source.splitlines()) + 1 - len(block), block)


def _block(line: int, lines: Sequence[str]) -> Iterator[Text]:
    if lines:
        yield Text(line, _bare("\n".join(lines)))


def _bare(text: str) -> str:
    """Replace code, links and placeholders by something that is no word."""
    return _CODE.sub(lambda match: re.sub(r"[^\n]", "_", match.group()), text)


def found_in(path: str, source: str, avoided: Sequence[Pattern]) -> list[Match]:
    """Return all matches in one file, by line."""
    found = (match for text in texts_of(path, source) for match in matches(text, avoided))
    return sorted(found, key=lambda match: match.line)


def is_checked(path: str) -> bool:
    """True if a file holds texts that this check covers."""
    if path.endswith(".yaml"):
        return path.startswith(_DEFINITIONS)
    return path.endswith(".py") or (path.endswith(".md") and not path.startswith(_HISTORY))


def offences(found: Mapping[str, Sequence[Match]], baseline: Mapping[str, int]) -> Iterator[str]:
    """Compare the matches with the baseline; one line for each reason to fail."""
    for path in sorted({*found, *baseline}):
        some, most = found.get(path, ()), baseline.get(path, 0)
        if len(some) > most:
            yield f"{path}: {len(some)} expressions to avoid, the baseline allows {most}:"
            yield from (f"  {match.shown(path)}" for match in some)
        if len(some) < most:
            yield (
                f"{path}: {len(some)} expressions to avoid, the baseline allows {most}: lower the "
                "baseline with `python -m scripts.plain_words --lower`"
            )


def lowered(found: Mapping[str, Sequence[Match]], baseline: Mapping[str, int]) -> dict[str, int]:
    """Return the baseline with each count lowered to what is found; no count rises."""
    counts = Counter({path: min(len(some), baseline.get(path, 0)) for path, some in found.items()})
    return {path: count for path, count in sorted(counts.items()) if count}


def tracked() -> dict[str, str]:
    """Return the files that git tracks or would track, and that this check covers."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    paths = (path for path in output.splitlines() if is_checked(path))
    return {path: Path(path).read_text() for path in paths if Path(path).exists()}


def main(arguments: Sequence[str]) -> int:
    """Print every offence; any makes the exit code 1."""
    avoided = patterns()
    found = {path: found_in(path, source, avoided) for path, source in tracked().items()}
    if "--list" in arguments:
        prefixes = tuple(arguments[arguments.index("--list") + 1 :])
        for path, some in sorted(found.items()):
            for match in some if path.startswith(prefixes or ("",)) else ():
                print(match.shown(path))
        return 0
    baseline = json.loads(BASELINE.read_text())
    if "--lower" in arguments:
        baseline = lowered(found, baseline)
        BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
    texts = list(offences(found, baseline))
    for text in texts:
        print(text, file=sys.stderr)
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
