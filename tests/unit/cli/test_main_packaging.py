"""What `pip install .` brings is what the command needs, as far as files show it."""

import importlib
import re
import subprocess
import sys
import tomllib

import grimp
import pytest

from tests.support.manifests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ("cli", "controller", "shared", "webhook", "worker")
# Distributions that are imported under another name, or bring further packages.
BRINGS = {
    "aiohttp": {"aiohttp", "multidict", "yarl"},
    "pyyaml": {"yaml"},
    "ruamel.yaml": {"ruamel"},
    "pydantic": {"pydantic", "pydantic_core"},
}


def test_the_packages_that_the_command_imports_are_declared() -> None:
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    needed = graph.find_upstream_modules("cli", as_package=True)
    imported = {name.partition(".")[0] for name in needed}
    foreign = imported - {*PACKAGES} - sys.stdlib_module_names
    declared = [re.split(r"[<>=~\[ ]", each)[0] for each in PROJECT["project"]["dependencies"]]
    brought = set().union(*(BRINGS.get(each, {each}) for each in declared))
    assert "aiohttp" in foreign
    assert foreign <= brought


def test_the_files_that_the_packages_read_are_taken_along() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    listing = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = listing.stdout.splitlines()
    assert len(names) > 100
    # The rules of ruff are for the checkout alone.
    known = tuple(each.removeprefix("*") for each in (*patterns, "*.py", "ruff.toml"))
    assert [name for name in names if not name.endswith(known)] == []


@pytest.mark.parametrize("name", PROJECT["project"]["scripts"])
def test_every_program_that_is_installed_exists(name: str) -> None:
    module, _, function = PROJECT["project"]["scripts"][name].partition(":")
    package, _, ours = module.partition(".")
    assert package == "appwrapper_operator"
    assert callable(getattr(importlib.import_module(ours), function))


def test_the_programs_have_the_names_that_people_and_kubectl_look_for() -> None:
    assert [*PROJECT["project"]["scripts"]] == [
        "appwrapper",
        "kubectl-appwrapper",
        "kubectl_complete-appwrapper",
    ]
