import sys

import pytest

from localcluster.realnode.namespaces import NodeNamespaces, system_path

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/opt/mine/bin", f"/opt/mine/bin:{SYSTEM}"), ("", SYSTEM)],
)
def test_programs_of_root_are_found_whatever_path_there_is(path: str, expected: str) -> None:
    assert system_path({"PATH": path}) == {"PATH": expected}


def test_without_any_path_too() -> None:
    assert system_path({}) == {"PATH": SYSTEM}


def test_a_program_runs_inside_by_the_pid_of_process_1() -> None:
    inside = object.__new__(NodeNamespaces)  # nothing is run
    inside.process_1 = 77
    assert inside.command("ctr", "version") == (
        sys.executable,
        *("-m", "localcluster.realnode.enter", "77", "ctr", "version"),
    )
    assert str(inside.path("/run/x")) == "/proc/77/root/run/x"
