import sys

from localcluster.realnode.namespaces import NodeNamespaces


def test_a_program_runs_inside_by_the_pid_of_process_1() -> None:
    inside = object.__new__(NodeNamespaces)  # nothing is run
    inside.process_1 = 77
    assert inside.command("ctr", "version") == (
        sys.executable,
        *("-m", "localcluster.realnode.enter", "77", "ctr", "version"),
    )
    assert str(inside.path("/run/x")) == "/proc/77/root/run/x"
