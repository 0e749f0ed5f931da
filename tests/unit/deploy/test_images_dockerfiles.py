"""The two Dockerfiles say the same of two binaries, and copy nothing of each other's."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from localcluster.images import recipe
from shared.config.configuration import Configuration
from shared.config.values import parse_bind_address

ROOT = Path(__file__).parents[3]
BINARIES = ("webhook", "controller")
# The controller reads error records with the recorder's own code.
ALSO = {"webhook": [], "controller": ["worker"]}


def text_of(binary: str) -> str:
    return (ROOT / f"Dockerfile.{binary}").read_text()


def copied(binary: str) -> list[str]:
    """What comes out of the context."""
    found = re.findall(r"^COPY (?!--from)(\S+) \S+$", text_of(binary), re.MULTILINE)
    assert len(found) == 4 + len(ALSO[binary])
    return found


def test_they_differ_in_the_binary_alone() -> None:
    ours = text_of("webhook").replace("admission webhook", "controller")
    ours = ours.replace("webhook", "controller")
    without_ports = [
        re.sub(r"^# .*metrics\nEXPOSE .*\n", "", text, flags=re.MULTILINE)
        for text in (ours, text_of("controller").replace("COPY worker /app/worker\n", ""))
    ]
    assert without_ports[0] == without_ports[1]


@pytest.mark.parametrize("binary", BINARIES)
def test_sources_are_disjoint(binary: str) -> None:
    other = "controller" if binary == "webhook" else "webhook"
    assert other not in text_of(binary)
    assert copied(binary) == [
        f"requirements-{binary}.lock",
        "LICENSE",
        "shared",
        binary,
        *ALSO[binary],
    ]


@pytest.mark.parametrize("binary", BINARIES)
def test_the_hash_covers_what_is_copied(binary: str) -> None:
    assert set(recipe.paths(binary)) == {f"Dockerfile.{binary}", *copied(binary)}


def test_the_context_is_what_they_copy() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    let_through = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert let_through == {path for binary in BINARIES for path in copied(binary)}
    assert rules[-2:] == ["**/__pycache__", "**/*.pyc"]


@pytest.mark.parametrize("binary", BINARIES)
def test_the_version_is_the_projects(binary: str) -> None:
    assert f"\nARG VERSION={recipe.version()}\n" in text_of(binary)


@pytest.mark.parametrize("binary", BINARIES)
def test_the_ports_are_the_configurations_defaults(binary: str) -> None:
    manager = Configuration().controller_manager
    bound = {
        "webhook": [manager.webhook.bind_address, manager.metrics.bind_address],
        "controller": [manager.health.bind_address, manager.metrics.bind_address],
    }[binary]
    addresses = [parse_bind_address(text) for text in bound]
    ports = " ".join(str(address.port) for address in addresses if address is not None)
    assert re.findall(r"^EXPOSE (.*)$", text_of(binary), re.MULTILINE) == [ports]


@pytest.mark.parametrize("binary", BINARIES)
def test_the_base_image_can_be_chosen(binary: str) -> None:
    froms = re.findall(r"^FROM (.*)$", text_of(binary), re.MULTILINE)
    assert froms == ["${BASE_IMAGE} AS build", "${BASE_IMAGE}"]
    before_the_first_from = text_of(binary).partition("\nFROM ")[0]
    assert "\nARG BASE_IMAGE=python:3.11-slim\n" in before_the_first_from


def test_no_tracked_file_is_hidden_from_the_hash() -> None:
    """What git tracks below the copied folders is what is built."""
    for binary in BINARIES:
        listing = ["git", "ls-files", "--", *recipe.paths(binary)]
        tracked = subprocess.run(
            listing, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.split()
        staged = {str(path) for path in recipe.files(binary)}
        present = {name for name in tracked if (ROOT / name).exists()}
        assert present <= staged
        assert not any(fnmatch(name, "*.pyc") for name in staged)
