"""docs/admins/error-stores.md: what it shows can be used as it stands."""

import re
from typing import Any

import yaml

from shared.annotations import TABLE
from shared.api.names import ANNOTATION_PREFIX
from shared.config.loading import parse_config
from shared.config.store_urls import DRIVERS
from tests.support.manifests import ROOT

PAGE = (ROOT / "docs" / "admins" / "error-stores.md").read_text()
BLOCKS = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def block(key: str) -> dict[str, Any]:
    (found,) = [each for each in BLOCKS if key in each]
    return dict(found)


def test_the_configuration_is_one_and_its_values_are_the_defaults() -> None:
    loaded = parse_config(yaml.safe_dump(block("appwrapper")))
    errors = loaded.config.appwrapper.fault_tolerance.error_aggregation
    assert [*errors.stores] == ["bucket", "team-volume"]
    assert errors.model_copy(update={"stores": {}}) == type(errors)()
    (name,) = block("metadata")["metadata"]["annotations"]
    assert name.removeprefix(ANNOTATION_PREFIX) in {each.name for each in TABLE}


def test_every_scheme_has_a_row() -> None:
    rows = re.findall(r"^\| (`[^|]*) \| (\S+) \|$", PAGE, re.MULTILINE)
    shown = {
        scheme: "" if package == "none" else package
        for schemes, package in rows
        for scheme in re.findall(r"`(\w+)`", schemes)
        if scheme.islower()
    }
    assert shown == DRIVERS


def test_the_driver_is_of_the_version_that_is_locked() -> None:
    lock = (ROOT / "requirements-controller.lock").read_text()
    (locked,) = re.findall(r"^fsspec==(\S+) ", lock, re.MULTILINE)
    assert re.findall(r"s3fs==(\S+)", PAGE) == [locked]


def test_the_patch_fits_the_deployment_and_the_first_store() -> None:
    (patch,) = block("patches")["patches"]
    folder = ROOT / "deploy" / "manifests" / "base" / "controller"
    documents = yaml.safe_load_all((folder / "deployment.yaml").read_text())
    (deployment,) = [each for each in documents if each["kind"] == patch["target"]["kind"]]
    assert deployment["metadata"]["name"] == patch["target"]["name"]
    spec = deployment["spec"]["template"]["spec"]
    assert spec["volumes"]
    assert spec["containers"][0]["volumeMounts"]
    volume, mount = yaml.safe_load(patch["patch"])
    assert volume["value"]["name"] == mount["value"]["name"]
    stores = block("appwrapper")["appwrapper"]["faultTolerance"]["errorAggregation"]["stores"]
    assert stores["team-volume"] == f"file://{mount['value']['mountPath']}"


def test_it_is_short() -> None:
    assert len(PAGE.split()) <= 600
