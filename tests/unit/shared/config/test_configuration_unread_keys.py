"""A setting that nothing reads promises what nobody does: every key is read by some program."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import get_args

from shared.config.configuration import Configuration
from shared.config.values import Section
from tests.support.manifests import ROOT

ROOMS = ("shared", "webhook", "controller", "cli", "worker")
CONFIG = ROOT / "shared" / "config"


@dataclass(frozen=True)
class Key:
    """`section` is the class that has the attribute, `under` the attribute that holds it.

    `element`: it holds many of them, in a list or a map.
    """

    path: str
    section: type[Section]
    under: str
    element: bool

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def keys(
    section: type[Section] = Configuration, path: str = "", under: str = "", element: bool = False
) -> Iterator[Key]:
    """All settings, also those of the elements of lists and maps."""
    for name, field in section.model_fields.items():
        here = f"{path}.{name}" if path else name
        inner = list(sections_in(field.annotation))
        for each in inner:
            yield from keys(each, here, name, field.annotation is not each)
        if field.annotation not in inner:
            yield Key(here, section, under, element)


def sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from sections_in(argument)


@dataclass(frozen=True)
class Reads:
    """What one file reads: attributes, each with the name before it (`a` of `x.a.b`), and names."""

    attributes: frozenset[tuple[str, str]]
    names: frozenset[str]


@cache
def reads() -> tuple[Reads, ...]:
    trees = [
        ast.parse(file.read_text())
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if not file.is_relative_to(CONFIG)
    ]
    return tuple(map(reads_of, trees))


def reads_of(tree: ast.AST) -> Reads:
    loaded = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    ]
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return Reads(frozenset((last_name(node.value), node.attr) for node in loaded), frozenset(named))


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def defined_elsewhere() -> frozenset[str]:
    """Attributes and methods of classes that are no settings: their names prove nothing alone."""
    found = set()
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            if file.is_relative_to(CONFIG):
                continue
            for made in ast.walk(ast.parse(file.read_text())):
                if isinstance(made, ast.ClassDef):
                    found |= members(made)
    return frozenset(found)


def members(made: ast.ClassDef) -> set[str]:
    found = {each.name for each in made.body if isinstance(each, ast.FunctionDef)}
    for node in ast.walk(made):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def is_read(key: Key) -> bool:
    """A name that only this setting has is read wherever it stands behind a dot.

    Any other only as `.under.name`, or in a file that names the section's class. Of elements, whose
    variable has any name, a file that reads `.under` is enough.
    """
    alike = [each for each in keys() if each.name == key.name and each.section is not key.section]
    alone = not alike and key.name not in defined_elsewhere()
    for file in reads():
        if (key.under, key.name) in file.attributes:
            return True
        if any(name == key.name for _, name in file.attributes) and (
            alone
            or key.section.__name__ in file.names
            or (key.element and any(name == key.under for _, name in file.attributes))
        ):
            return True
    return False


def test_every_key_is_read_by_a_program() -> None:
    """A reader that goes by another name (`getattr`, a whole section dumped) is not seen."""
    assert {key.path for key in keys() if not is_read(key)} == set()


def test_the_walk_finds_settings_of_every_depth() -> None:
    found = {key.path for key in keys()}
    assert found > {
        "appwrapper.autopilot.prefer_no_schedule_weight",
        "appwrapper.autopilot.resource_taints",
        "appwrapper.autopilot.resource_taints.effect",
        "appwrapper.team_namespace_selector.match_expressions.operator",
        "controller_manager.webhook.drain_period",
    }


def test_uses_of_a_field_that_count_as_reading() -> None:
    (lending,) = (key for key in keys() if key.path == "appwrapper.slack_queue.dry_run")
    assert (lending.section.__name__, lending.under) == ("SlackQueue", "slack_queue")
    source = "answer = options.dry_run\nother = config.appwrapper.slack_queue.dry_run\n"
    assert reads_of(ast.parse(source)).attributes == {
        ("options", "dry_run"),
        ("config", "appwrapper"),
        ("appwrapper", "slack_queue"),
        ("slack_queue", "dry_run"),
    }
    assert reads_of(ast.parse("options.dry_run = True")).attributes == frozenset()
