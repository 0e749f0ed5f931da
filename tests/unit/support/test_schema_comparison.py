import pytest

from shared.api.objects import JsonObject
from tests.support.schema_comparison import narrower, without_descriptions

STRING = {"type": "string"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def an_object(**keywords: object) -> JsonObject:
    return {"type": "object", "properties": {"a": STRING}, **keywords}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(STRING, STRING, id="the same"),
        pytest.param(STRING, {"type": "string", "description": "x"}, id="a description"),
        pytest.param({"type": "string", "maxLength": 3}, STRING, id="no bound"),
        pytest.param(
            {"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 4}, id="wider bound"
        ),
        pytest.param(
            {"type": "string", "enum": ["a"]},
            {"type": "string", "enum": ["b", "a"]},
            id="wider enum",
        ),
        pytest.param({"type": "string", "pattern": "a"}, STRING, id="no pattern"),
        pytest.param(an_object(required=["a"]), an_object(), id="not required"),
        pytest.param(
            an_object(),
            an_object(properties={"a": STRING, "b": STRING}),
            id="an optional field more",
        ),
        pytest.param(
            an_object(), an_object(**{"x-kubernetes-preserve-unknown-fields": True}), id="open"
        ),
        pytest.param(STRING, {"x-kubernetes-preserve-unknown-fields": True}, id="any type"),
    ],
)
def test_schemas_that_are_as_wide(theirs: JsonObject, ours: JsonObject) -> None:
    assert list(narrower(theirs, ours)) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "complaint"),
    [
        pytest.param(STRING, {"type": "integer"}, "(root): type integer, not string", id="type"),
        pytest.param(
            {"type": "integer"},
            {"type": "integer", "format": "int32"},
            "(root): format int32, not None",
            id="format",
        ),
        pytest.param(
            STRING, {"type": "string", "maxLength": 3}, "(root): maxLength 3", id="upper bound"
        ),
        pytest.param(
            {"type": "string", "minLength": 1},
            {"type": "string", "minLength": 2},
            "(root): minLength 2",
            id="lower bound",
        ),
        pytest.param(STRING, {"type": "string", "enum": ["a"]}, "(root): only ['a']", id="enum"),
        pytest.param(STRING, {"type": "string", "pattern": "a"}, "(root): pattern a", id="pattern"),
        pytest.param(
            an_object(), an_object(required=["a"]), "(root): requires ['a']", id="required"
        ),
        pytest.param(an_object(), an_object(properties={}), "a: is missing", id="field missing"),
        pytest.param(
            {"type": "array", "items": an_object()},
            {"type": "array", "items": an_object(properties={"a": {"type": "integer"}})},
            "[].a: type integer, not string",
            id="inside an array",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "{}: type integer, not string",
            id="inside a map",
        ),
        pytest.param(
            ANYTHING, {"type": "object"}, "(root): drops unknown fields", id="unknown fields"
        ),
        pytest.param(
            ANYTHING,
            {**ANYTHING, "properties": {"a": STRING}},
            "a: is constrained",
            id="constrained",
        ),
        pytest.param(
            ANYTHING,
            {**ANYTHING, "x-kubernetes-embedded-resource": True},
            "(root): requires a whole resource",
            id="embedded resource",
        ),
    ],
)
def test_schemas_that_are_narrower(theirs: JsonObject, ours: JsonObject, complaint: str) -> None:
    assert list(narrower(theirs, ours)) == [complaint]


def test_a_keyword_that_is_not_understood_is_never_passed_over() -> None:
    with pytest.raises(ValueError) as raised:
        list(narrower(STRING, {"type": "string", "x-kubernetes-validations": []}))
    assert str(raised.value) == "(root): cannot compare ['x-kubernetes-validations']"


def test_prose_goes_and_a_field_named_description_stays() -> None:
    schema = {"description": "prose", "properties": {"description": STRING}, "enum": ["a"]}
    assert without_descriptions(schema) == {"properties": {"description": STRING}, "enum": ["a"]}
