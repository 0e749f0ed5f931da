import pytest

from bench.load.lives import appwrapper_end, job_end
from shared.api.json import JsonObject


@pytest.mark.parametrize(
    ("appwrapper", "end"),
    [
        ({}, None),
        ({"status": {}}, None),
        ({"status": {"phase": "Running"}}, None),
        ({"status": {"phase": "Succeeded"}}, "Succeeded"),
        ({"status": {"phase": "Failed"}}, "Failed"),
    ],
)
def test_appwrapper_end(appwrapper: JsonObject, end: str | None) -> None:
    assert appwrapper_end(appwrapper) == end


@pytest.mark.parametrize(
    ("conditions", "end"),
    [
        ([], None),
        ([("Suspended", "True")], None),
        ([("SuccessCriteriaMet", "True")], None),
        ([("Complete", "False")], None),
        ([("SuccessCriteriaMet", "True"), ("Complete", "True")], "Succeeded"),
        ([("Failed", "True")], "Failed"),
    ],
)
def test_job_end(conditions: list[tuple[str, str]], end: str | None) -> None:
    status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
    assert job_end({"status": status}) == end
