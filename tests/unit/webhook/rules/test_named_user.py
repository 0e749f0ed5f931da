import pytest

from tests.support.builders.admission import appwrapper, warnings_of

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"


def warning(key: str, value: str) -> str:
    return (
        f"metadata.labels[{key}]: remove it from the file: it is overwritten with {value}, "
        "and the same file will be refused when applied again"
    )


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({}, []),
        ({USER: "alice", USERID: "42"}, []),
        ({USER: "bob"}, [warning(USER, '"alice"')]),
        ({USER: "", USERID: "x"}, [warning(USER, '"alice"'), warning(USERID, '"42"')]),
        ({USER: "x" * 5000}, [warning(USER, '"alice"')]),
    ],
)
def test_a_file_that_names_somebody_else(labels: dict[str, str], says: list[str]) -> None:
    assert warnings_of(appwrapper(labels=labels)) == says


def test_an_update_is_for_immutability_to_judge() -> None:
    old = appwrapper(labels={USER: "alice", USERID: "42"})
    assert warnings_of(appwrapper(labels={USER: "bob", USERID: "42"}), old=old) == []
