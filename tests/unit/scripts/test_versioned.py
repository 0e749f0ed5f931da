"""The version is written in pyproject.toml, and generated everywhere else."""

import re
import subprocess

from localcluster.images.recipe import version
from scripts.versioned import versioned_files
from tests.support.manifests import CHART, ROOT, document

NAMED = re.compile(
    r"(?:appwrapper-(?:webhook|controller):|ARG VERSION=|^version: )(\d[\w.]*)", re.MULTILINE
)


def test_no_other_file_names_an_image_of_a_version() -> None:
    shipped = ["Dockerfile.*", "README.md", "deploy", "docs", "samples"]
    listing = subprocess.run(
        ["git", "ls-files", *shipped], cwd=ROOT, check=True, capture_output=True, text=True
    )
    files = [ROOT / each for each in listing.stdout.splitlines() if (ROOT / each).is_file()]
    named = {file: NAMED.findall(file.read_text()) for file in files}
    assert {file for file, found in named.items() if found} == versioned_files().keys()
    assert {each for found in named.values() for each in found} == {version()}


def test_the_chart_is_of_the_programs_version() -> None:
    chart = document(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (version(), version())
