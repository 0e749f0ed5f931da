"""`appwrapper pack`: helpers, and the object that names the AppWrapper."""

import pytest

from cli.manifests.yaml_text import parse_yaml
from shared.api.objects import JsonObject
from tests.support.builders.packed import JOB, OF_SERVICE, PACKED, SERVICE, TENSORBOARD
from tests.support.packing import packed, refused, unable

HELPER = "workload.codeflare.dev.appwrapper/helper"
KEEP = "workload.codeflare.dev.appwrapper/keep"
ANNOTATED = TENSORBOARD.replace(
    "  name: tensorboard\n", f'  name: tensorboard\n  annotations:  # mine\n    {HELPER}: "true"\n'
)


def whole(*argv: str, stdin: str) -> JsonObject:
    made: JsonObject = parse_yaml(packed(*argv, stdin=stdin))[0].value
    return made


def annotations(made: JsonObject) -> list[JsonObject | None]:
    return [each.get("annotations") for each in made["spec"]["components"]]


@pytest.mark.parametrize("named", ["tensorboard", "Deployment", "Deployment/tensorboard"])
def test_the_option_marks_a_component(named: str) -> None:
    made = whole("--helper", named, stdin=f"{TENSORBOARD}---\n{JOB}")
    assert annotations(made) == [{HELPER: "true"}, None]
    assert made["metadata"]["name"] == "train"


def test_the_objects_own_annotation_counts_and_its_text_stays() -> None:
    text = packed(stdin=f"{ANNOTATED}---\n{JOB}")
    assert annotations(parse_yaml(text)[0].value) == [{HELPER: "true"}, None]
    assert "        annotations:  # mine\n" in text


def test_an_object_without_pods_can_be_kept() -> None:
    own = f"{SERVICE.replace('spec:', '  annotations:' + chr(10) + '    ' + KEEP)}"
    text = own.replace(KEEP, f'{KEEP}: "true"\nspec:')
    assert annotations(whole(stdin=f"{JOB}---\n{text}")) == [None, {KEEP: "true"}]


def test_a_wrong_value_is_found_in_the_object() -> None:
    text = ANNOTATED.replace('"true"', '"yes"')
    assert refused(stdin=f"{JOB}---\n{text}").startswith(
        "standard input:27:5: error: spec.components[1].annotations"
    )


def test_the_first_object_with_pods_names_the_appwrapper() -> None:
    service = SERVICE.replace("name: train", "name: address")
    assert whole(stdin=f"{service}---\n{JOB}")["metadata"] == {"name": "train"}
    assert whole(stdin=service + "---\n" + TENSORBOARD)["metadata"] == {"name": "tensorboard"}
    assert packed(stdin=f"{JOB}---\n{SERVICE}") == PACKED + OF_SERVICE


def test_without_pods_the_first_object_names_it() -> None:
    assert "error: " in refused(stdin="kind: Service\napiVersion: v1\nmetadata: {name: address}\n")


def test_a_helper_that_does_not_exist() -> None:
    assert unable("--helper", "board", stdin=f"{TENSORBOARD}---\n{JOB}") == (
        "error: --helper board: no object has this name. The objects are Deployment/tensorboard and"
        " Job/train\n"
    )
