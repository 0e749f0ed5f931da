"""The schema of the chart's values accepts what the programs accept.

What the chart renders: tests/integration/exclusive/test_chart.py, with the real Helm.
"""

from typing import Any, get_args

import jsonschema
import pytest
import yaml

from cli.shipped.data import OVERLAYS
from scripts.chart import ChartValues, registration_keys, values_schema
from scripts.configuration_page import IN_MANIFESTS
from shared.api.objects import JsonObject
from shared.config.configuration import Configuration
from shared.config.keys import _IGNORED, _SHORT_FORMS, KeyPath
from shared.config.loading import ConfigError, parse_config
from tests.support.manifests import CERTS, CHART, MANIFESTS, document

SCHEMA = jsonschema.Draft202012Validator(values_schema())


def nested(path: KeyPath, value: object) -> JsonObject:
    for key in reversed(path):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def is_accepted(configuration: object) -> bool:
    return SCHEMA.is_valid({"configuration": configuration})


def is_loaded(configuration: object) -> bool:
    """Whether the programs start with it."""
    try:
        parse_config(yaml.safe_dump(configuration))
    except ConfigError:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(values_schema())


def test_the_values_of_the_chart_are_the_models_defaults() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert SCHEMA.is_valid(values)
    assert values.pop("configuration") == {}
    assert values == ChartValues().model_dump(exclude={"configuration"})


def test_the_choices_are_the_folders() -> None:
    fields = ChartValues.model_fields
    assert set(get_args(fields["overlay"].annotation)) == set(OVERLAYS)
    choices = {each.name for each in CERTS.iterdir()}
    assert set(get_args(fields["certificates"].annotation)) == choices


def test_every_default_is_accepted() -> None:
    assert is_accepted(Configuration().model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlays_keys_are_accepted(name: str) -> None:
    assert is_accepted(document(MANIFESTS / "overlays" / name / "config.yaml"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((path, "anything") for path in _IGNORED),
        *((path, "reserve") for path in _SHORT_FORMS),
        (("appwrapper", "faultTolerance", "retryPausePeriod"), "1m"),
        (("appwrapper", "faultTolerance", "resetPause"), 90_000_000_000),
        (("appwrapper", "maxObjectSize"), "512Ki"),
        (("appwrapper", "maxObjectSize"), 4096),
        (("appwrapper", "userRBACAdmissionCheck"), False),
        (("appwrapper", "teamNamespaceSelector", "matchLabels"), {"example.com/team": "yes"}),
    ],
)
def test_another_notation_is_accepted(path: KeyPath, value: object) -> None:
    given = nested(path, value)
    assert is_loaded(given)
    assert is_accepted(given)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("appwrapper", "retryLimt"), 3),
        (("appWrapper",), {}),
        (("appwrapper", "faultTolerance", "retryLimit"), "3"),
        (("appwrapper", "suspectNodes"), "Sometimes"),
        (("appwrapper", "maxObjectSize"), [1]),
        (("appwrapper", "autopilot", "resourceTaints"), {"nvidia.com/gpu": [{"kee": "x"}]}),
    ],
)
def test_values_that_the_programs_reject_are_rejected(path: KeyPath, value: object) -> None:
    given = nested(path, value)
    assert not is_loaded(given)
    assert not is_accepted(given)


@pytest.mark.parametrize("values", [{"replica": 3}, {"replicas": {"webhook": -1}}, {"crd": "no"}])
def test_other_wrong_values_are_rejected(values: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(values)


def test_the_keys_that_need_a_registration_have_all_their_names() -> None:
    other_name = "appwrapper.faultTolerance.forcefulDeletionGracePeriod"
    assert set(registration_keys()) == {*IN_MANIFESTS, other_name}
