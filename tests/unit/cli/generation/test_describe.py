"""--schema and --example agree with what is read."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from cli.generation.describe import example, items_of, json_schema, sections
from cli.generation.generator import RefusedValues, generate
from cli.generation.legacy import KEYS as LEGACY_KEYS
from cli.generation.value_types import keys_of
from cli.generation.values import Values

GOLDEN_VALUES = sorted((Path(__file__).parent / "golden").glob("*.yaml"))


def uncommented() -> str:
    """The example with every key in use."""
    return re.sub(r"^#(?=[A-Za-z])", "", example(), flags=re.MULTILINE)


def valid(text: str) -> bool:
    return jsonschema.Draft202012Validator(json_schema()).is_valid(yaml.safe_load(text))


def test_the_schema_is_one_of_draft_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_describes_itself_without_names_of_the_program() -> None:
    assert json_schema()["description"] == "The keys of a values file."


def test_the_schema_has_every_key_with_what_it_does() -> None:
    properties = json_schema()["properties"]
    assert list(properties) == [*keys_of(Values), *LEGACY_KEYS]
    assert all(each["description"] for each in properties.values())
    assert properties["numPods"] == {
        "description": "Number of pods: a master and workers.",
        "default": 1,
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": 2147483647}, {"type": "null"}],
    }


@pytest.mark.parametrize("text", [example(), uncommented()], ids=["as printed", "uncommented"])
def test_the_example_passes(text: str) -> None:
    assert valid(text)
    made = generate([("values.yaml", text)], [])
    assert made.warnings == ()
    assert made.appwrapper["metadata"]["name"] == "my-job"


def test_the_example_has_every_key_in_its_order() -> None:
    assert list(yaml.safe_load(uncommented())) == list(keys_of(Values))
    assert list(yaml.safe_load(example())) == ["jobName", "containerImage", "mainProgram"]
    assert list(sections()) == [
        "The job",
        "Resources",
        "The work",
        "Special clusters",
        "Fault tolerance",
    ]


def described() -> Iterator[tuple[str, FieldInfo]]:
    """Every key, those of items included."""
    for name, each in keys_of(Values).items():
        yield name, each
        for inner, item in items_of(each).items():
            yield f"{name}.{inner}", item


@pytest.mark.parametrize(("name", "each"), [*described()], ids=lambda value: str(value)[:40])
def test_every_description_is_a_sentence(name: str, each: FieldInfo) -> None:
    about = each.description or ""
    assert about[0].isupper() or about.split()[0] in ("null", "true")
    assert about.endswith(".")


@pytest.mark.parametrize("file", GOLDEN_VALUES, ids=lambda file: file.stem)
def test_values_that_the_chart_accepts_match_the_schema(file: Path) -> None:
    values = file.read_text().split("\n---\n")[0]
    # PyYAML reads dates and 12:30 as YAML 1.1 has them; editors and this command do not.
    if file.stem != "numbers-as-values":
        assert valid(values)


@pytest.mark.parametrize(
    "text",
    [
        "jobName: A",
        "numPods: 0",
        "numPods: two",
        "numCpusPerPod: -1",
        "totalMemoryPerPod: 1 Gi",
        "priority: high",
        "volumes: [{name: a, claimName: b}]",
        "volumes: [{name: a, claimName: b, mountPath: /a, readOnly: true}]",
        "customLabels: [{key: a_, value: b}]",
        "environmentVariables: [{name: A=, value: 1}]",
        "mountNVMe: {}",
        "admissionGracePeriodDuration: 60",
        "admissionGracePeriodDuration: 5 minutes",
        "retryLimit: -1",
        "terminalExitCodes: [0]",
        "unknown: 1",
        "disableSharedMemory: 'true'",
    ],
)
def test_values_that_the_schema_refuses_are_refused(text: str) -> None:
    base = {"jobName": "j", "containerImage": "i"}
    changed = yaml.safe_dump(base | yaml.safe_load(text))
    assert not valid(changed)
    with pytest.raises(RefusedValues):
        generate([("f", changed)], [])


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-1, 12)
    | st.floats(0, 8)
    | st.text(max_size=4)
    | st.sampled_from(["a", "1Gi", "500m", "7d", "1h30m", "Never", "sakkara", "a/b", "0", "3,10"])
)
ITEM_KEYS = sorted({name.split(".")[1] for name, _ in described() if "." in name})
ITEMS = st.dictionaries(st.sampled_from(ITEM_KEYS), SCALARS, max_size=4)
ANY = SCALARS | ITEMS | st.lists(SCALARS | ITEMS, max_size=3)


@given(st.dictionaries(st.sampled_from([*keys_of(Values), *LEGACY_KEYS]), ANY, max_size=6))
def test_whatever_the_values_they_are_refused_or_fit_the_schema(values: dict[str, object]) -> None:
    text = json.dumps({"jobName": "j", "containerImage": "i"} | values)
    try:
        made = generate([("f", text)], [])
    except RefusedValues:
        return
    assert made.appwrapper["kind"] == "AppWrapper"
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(json.loads(text))
