from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, component
from webhook.rules.submission import components_of

API_VERSION = "must be a version such as v1, or group and version such as batch/v1"
KIND = "must be a Kind such as Job"


@pytest.mark.parametrize(
    ("key", "value", "detail"),
    [
        *[
            ("apiVersion", value, API_VERSION)
            for value in [
                "/",
                "/v1",
                "v1/",
                "a/b/v1",
                "../../v1",
                "batch/../v1",
                "v1?dryRun=All",
                "v1 ",
                "batch/v1\n",
                "Batch/v1",
                "b\u00e4tch/v1",
                "batch/v1\x00",
                "v" * 64,
            ]
        ],
        *[
            ("kind", value, KIND)
            for value in ["a/b", "..", "Pod ", "Pod\n", "P\u00f6d", "1Pod", "Pod-", "P" * 64]
        ],
    ],
)
def test_a_version_or_kind_that_names_no_resource_is_refused(
    key: str, value: str, detail: str
) -> None:
    """It would become part of a path when the API server is asked about it."""
    template = {"apiVersion": "v1", "kind": "Pod"} | {key: value}
    components, errors = components_of(appwrapper(component(template)))
    path = f"spec.components[0].template.{key}"
    assert (components, [str(error) for error in errors]) == (
        [],
        [f'{path}: Invalid value: "{value}": {detail}'],
    )


@pytest.mark.parametrize("wrong", ["x", "", ["x"], [], 1, 0, True, False])
def test_metadata_and_annotations_of_a_component_are_objects(wrong: Any) -> None:
    _, errors = components_of(
        appwrapper(
            component({"apiVersion": "v1", "kind": "Service", "metadata": wrong}),
            component(annotations=wrong),
            component({"apiVersion": "v1", "kind": "Service", "metadata": None}, annotations=None),
        )
    )
    assert [str(error) for error in errors] == [
        "spec.components[0].template.metadata: Invalid value: must be an object",
        "spec.components[1].annotations: Invalid value: must be an object",
    ]


def test_a_long_value_is_cut_in_its_error() -> None:
    _, [error] = components_of(appwrapper(component({"apiVersion": "v1", "kind": "K" * 1000})))
    assert error.value == f'"{"K" * 253}..."'
