import json
from collections.abc import Iterator

from shared.api import names
from shared.api.objects import JsonObject
from shared.config.configuration import AllowedKinds
from tests.support.manifests import CRD_FILE, ROOT, document, served_schema
from tests.support.schema_comparison import narrower

# The schema of the Go operator's v1beta2, facts only. tests/integration/shared/test_crd.py
# compares it with the module itself.
GO_OPERATOR = ROOT / "tests" / "golden" / "go-operator-crd-schema.json"
CRD = document(CRD_FILE)
SCHEMA = served_schema(CRD, names.VERSION)


def fields(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Every field below a schema, with its path."""
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from fields(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield f"{path}[]", schema[keyword]
            yield from fields(schema[keyword], f"{path}[]")


def test_names_are_those_the_code_uses() -> None:
    assert CRD["metadata"]["name"] == f"{names.PLURAL}.{names.GROUP}"
    assert CRD["spec"]["group"] == names.GROUP
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": names.KIND,
        "listKind": "AppWrapperList",
        "plural": names.PLURAL,
        "singular": "appwrapper",
        "shortNames": ["aw"],
    }


def test_the_kinds_that_may_be_wrapped_by_default_are_described() -> None:
    template = SCHEMA["properties"]["spec"]["properties"]["components"]["items"]["properties"]
    described = template["template"]["description"]
    assert f"by default: {', '.join(AllowedKinds().wrapped)}." in described


def test_one_version_with_a_status_subresource() -> None:
    (version,) = CRD["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == (names.VERSION, True, True)
    assert version["subresources"] == {"status": {}}


def test_columns_in_order_and_the_wide_ones_last() -> None:
    (version,) = CRD["spec"]["versions"]
    shown = [(one["name"], one.get("priority", 0)) for one in version["additionalPrinterColumns"]]
    assert shown == [
        ("Status", 0),
        ("Quota", 0),
        ("Deployed", 0),
        ("Unhealthy", 0),
        ("Ready", 0),
        ("Age", 0),
        ("Retries", 1),
        ("Root Cause", 1),
    ]


def test_kubectls_table_has_room_for_a_name_of_16_in_80_columns() -> None:
    """Three blanks separate kubectl's columns; the longest cells are `9d23h` and Terminating."""
    (version,) = CRD["spec"]["versions"]
    cells = {"Status": "Terminating", "Age": "9d23h"}
    shown = [one["name"] for one in version["additionalPrinterColumns"] if not one.get("priority")]
    assert 16 + sum(3 + max(len(each), len(cells.get(each, "False"))) for each in shown) <= 80


def test_whatever_the_go_operator_accepts_is_accepted() -> None:
    theirs = json.loads(GO_OPERATOR.read_text())
    assert list(narrower(theirs, SCHEMA)) == []


def test_additions_are_under_status_alone() -> None:
    theirs = dict(fields(json.loads(GO_OPERATOR.read_text())))
    added = [path for path, _ in fields(SCHEMA) if path not in theirs]
    tops = {path.split(".")[2].removesuffix("[]") for path in added}
    assert all(path.startswith(".status.") for path in added)
    assert tops == {
        "attempt",
        "quotaSeconds",
        "timers",
        "suspectNodes",
        "rootCause",
        "errorHistory",
    }


def test_every_field_teaches() -> None:
    silent = [path for path, field in fields(SCHEMA) if len(field.get("description", "")) < 12]
    # The API server refuses a description of metadata and shows its own.
    assert silent == [".metadata"]


def test_status_fields_are_all_optional() -> None:
    assert "required" not in SCHEMA["properties"]["status"]
    assert "required" not in SCHEMA["properties"]["status"]["properties"]["rootCause"]
