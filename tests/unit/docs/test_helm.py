"""docs/admins/helm.md names every value of the chart, and the version that the tests run."""

import re

from localcluster.programs.catalogue import CATALOGUE
from scripts.chart import ChartValues
from tests.support.manifests import CHART, ROOT

TEXT = (ROOT / "docs" / "admins" / "helm.md").read_text()


def test_every_value_has_a_row() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", TEXT, re.MULTILINE)
    named = re.findall(r"`(\w+)", " ".join(cells))
    assert set(named) == ChartValues.model_fields.keys()


def test_it_names_the_version_of_the_tests() -> None:
    assert f"tested\nwith {CATALOGUE['helm'].version.removeprefix('v')} and" in TEXT


def test_the_folders_of_the_chart_are_links_to_the_manifests() -> None:
    links = {each.name for each in CHART.iterdir() if each.is_symlink()}
    assert links == {"certs", "manifests", "monitoring", "team"}
    assert all((CHART / each).resolve() == ROOT / "deploy" / each for each in links)
