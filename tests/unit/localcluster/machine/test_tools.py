import pytest

from localcluster.machine.tools import system_path

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/opt/mine/bin", f"/opt/mine/bin:{SYSTEM}"), ("", SYSTEM)],
)
def test_programs_of_root_are_found_whatever_path_there_is(path: str, expected: str) -> None:
    assert system_path({"PATH": path}) == {"PATH": expected}


def test_without_any_path_too() -> None:
    assert system_path({}) == {"PATH": SYSTEM}
