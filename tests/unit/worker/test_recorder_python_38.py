"""The recorder runs in users' images: Python 3.8 or later, the standard library, one folder."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "worker"
MODULES = sorted(FOLDER.rglob("*.py"))
# Newer than Python 3.8, by module; `typing` aside, what people reach for without thinking.
NEWER = {
    "removeprefix",
    "removesuffix",
    "pairwise",
    "to_thread",
    "getLevelNamesMapping",
    "add_note",
    "batched",
    "bit_count",
    "waitstatus_to_exitcode",
    "zip_strict",
    "cache",
    "TypeAlias",
    "StrEnum",
    "UTC",
}


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def test_there_are_modules() -> None:
    assert len(MODULES) > 10


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_python_38_parses_it(module: Path) -> None:
    tree = ast.parse(module.read_text(), str(module), feature_version=(3, 8))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not attributes & NEWER
    # `X | Y` and `list[X]` are annotations only: nothing evaluates them.
    aliases = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Subscript)
        for name in ast.walk(node.value)
        if isinstance(name, ast.Name) and name.id in ("list", "dict", "tuple", "set", "type")
    ]
    assert not aliases


def test_any_python_parses_the_hook() -> None:
    """Python 2.7, which some images have for their own tools, starts with it as well."""
    tree = ast.parse((FOLDER / "hook" / "sitecustomize.py").read_text())
    newer = ast.JoinedStr | ast.AnnAssign | ast.NamedExpr | ast.Nonlocal | ast.AsyncFunctionDef
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arguments)]
    assert not [each for each in arguments if each.kwonlyargs or each.posonlyargs]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_it_imports_the_standard_library_and_itself_only(module: Path) -> None:
    outside = set(imports(ast.parse(module.read_text()))) - sys.stdlib_module_names - {"worker"}
    assert outside <= ({"sitecustomize"} if module.name == "sitecustomize.py" else set())


@pytest.mark.parametrize("name", ["appwrapper_errors.py", "sitecustomize.py"])
def test_the_hook_imports_nothing_of_the_recorder(name: str) -> None:
    assert "worker" not in set(imports(ast.parse((FOLDER / "hook" / name).read_text())))
