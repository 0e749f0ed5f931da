"""Each binary's lock file holds what the binary imports, and the lock files agree."""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from shared.kube import kubeconfig

ROOT = Path(__file__).parents[3]
BINARIES = ("webhook", "controller")
OURS = ("webhook", "controller", "shared", "worker")
# A kubeconfig is read only outside of a pod; it is imported by name.
NOT_IN_IMAGES = {"kubernetes"}


def locked(name: str) -> dict[str, str]:
    """Package → version."""
    text = (ROOT / name).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", text, re.MULTILINE))


def file_of(module: str) -> Path | None:
    """The source of one of our modules; None where the name is no module (a class in one)."""
    path = ROOT.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((each for each in candidates if each.is_file()), None)


def imported_by(path: Path) -> Iterator[str]:
    """Every name that a module imports, also as `package.name` where the name is a module's."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def third_party_of(binary: str) -> set[str]:
    """The packages' import names that the binary reaches, through whatever it loads of shared/."""
    pending = [
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
        for path in (ROOT / binary).rglob("*.py")
    ]
    seen: set[Path] = set()
    found: set[str] = set()
    while pending:
        path = file_of(pending.pop())
        if path is None or path in seen:
            continue
        seen.add(path)
        for name in imported_by(path):
            top = name.partition(".")[0]
            if top in OURS:
                pending.append(name)
            elif top not in sys.stdlib_module_names:
                found.add(top)
    assert any(path.is_relative_to(ROOT / "shared") for path in seen)
    return found


def distribution_of(name: str) -> str:
    (only,) = set(packages_distributions()[name])
    return only.lower().replace("_", "-")


@pytest.mark.parametrize("binary", BINARIES)
def test_everything_that_the_binary_imports_is_locked_for_it(binary: str) -> None:
    imported = third_party_of(binary)
    assert {"aiohttp", "orjson", "pydantic"} <= imported
    needed = {distribution_of(name) for name in imported}
    assert needed <= set(locked(f"requirements-{binary}.lock"))


def test_packages_of_the_webhook_alone_are_not_in_the_controllers_lock() -> None:
    only = third_party_of("webhook") - third_party_of("controller")
    assert only == {"cryptography", "fastapi", "starlette", "uvicorn"}
    distributions = {distribution_of(name) for name in only}
    assert distributions.isdisjoint(locked("requirements-controller.lock"))


def test_the_package_that_reads_kubeconfigs_is_in_no_image() -> None:
    assert 'import_module("kubernetes.' in Path(kubeconfig.__file__).read_text()
    for binary in BINARIES:
        assert NOT_IN_IMAGES.isdisjoint(locked(f"requirements-{binary}.lock"))
    assert set(locked("requirements.lock")) >= NOT_IN_IMAGES


def test_every_lock_file_holds_the_same_versions() -> None:
    everything = locked("requirements-dev.lock").items()
    whole_product = locked("requirements.lock").items()
    assert whole_product <= everything
    for binary in BINARIES:
        assert locked(f"requirements-{binary}.lock").items() <= whole_product


@pytest.mark.parametrize("binary", BINARIES)
def test_every_package_has_a_hash(binary: str) -> None:
    text = (ROOT / f"requirements-{binary}.lock").read_text()
    entries = re.split(r"\n(?=[a-z])", text.strip())
    assert len(entries) == len(locked(f"requirements-{binary}.lock"))
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
