from typing import Any

import pytest

from tests.support.builders.admission import appwrapper, warnings_of

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"


BY = "workload.codeflare.dev/submitted-by"


def warning(key: str, value: str, group: str = "labels") -> str:
    return f"metadata.{group}[{key}]: remove it from the file: it is overwritten with {value}"


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({}, []),
        ({USER: "alice", USERID: "42"}, []),
        ({USER: "bob"}, [warning(USER, '"alice"')]),
        ({USER: "", USERID: "x"}, [warning(USER, '"alice"'), warning(USERID, '"42"')]),
        ({USER: "x" * 5000}, [warning(USER, '"alice"')]),
        ({USER: 5}, []),  # the API server rejects it
    ],
)
def test_a_file_that_names_another_user_causes_a_warning(
    labels: dict[str, Any], says: list[str]
) -> None:
    assert warnings_of(appwrapper(labels=labels)) == says


def test_an_annotation_that_names_another_user_causes_a_warning() -> None:
    made = appwrapper()
    made["metadata"]["annotations"] = {BY: "bob"}
    assert warnings_of(made) == [warning(BY, '"alice"', "annotations")]
    made["metadata"]["annotations"] = {BY: "alice"}
    assert warnings_of(made) == []
