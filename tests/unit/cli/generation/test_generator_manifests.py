"""Printed manifests stay byte for byte, until their version annotation changes."""

import re
from pathlib import Path

import pytest

from cli.generation.describe import example
from cli.generation.generator import generate
from cli.reports import to_text

GOLDEN = Path(__file__).parent / "golden"
MANIFESTS = sorted((GOLDEN / "manifests").glob("*.yaml"))


def values_of(name: str) -> str:
    """Return a golden values file, or the example with every key in use."""
    if name == "example":
        return re.sub(r"^#(?=[A-Za-z])", "", example(), flags=re.MULTILINE)
    return (GOLDEN / f"{name}.yaml").read_text().split("\n---\n")[0]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_the_same_values_give_the_same_manifest_byte_for_byte(file: Path) -> None:
    made = generate([("values.yaml", values_of(file.stem))], [])
    assert to_text(made.appwrapper, "yaml") == file.read_text()


def test_every_golden_values_file_has_its_manifest() -> None:
    names = {file.stem for file in GOLDEN.glob("*.yaml")} | {"example"}
    assert {file.stem for file in MANIFESTS} == names
