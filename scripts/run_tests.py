"""Builds for and runs `make test`, `test-long`, `integration` and `e2e`.

Tests that share one cluster run on workers side by side. Tests with a cluster of their own, and
tests on a real node, run beside them, each in a process of its own. The start of the output lists
the tests that cannot run on this machine.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from localcluster.machine import slowness
from localcluster.machine.interrupts import end_with_parent
from localcluster.programs.catalogue import KUEUE_VERSIONS
from scripts import calibration, e2e_packages
from scripts.parts import Part, build, pytest_run, run_all

SHARED, EXCLUSIVE, E2E = "tests/integration/shared", "tests/integration/exclusive", "tests/e2e"
NODES = "tests/integration/nodes"
# Half the time of their folders' long tests: a run of their own, beside the rest. Whatever starts
# the Go operator is in the same run: it always listens on port 9443.
LONGEST_EXCLUSIVE = tuple(
    f"{EXCLUSIVE}/test_{name}.py"
    for name in (
        *("bench", "back_to_the_go_operator", "replacing_the_go_operator"),
        *("fleet", "two_controllers", "controller_memory"),
    )
)
INSTALLING = (f"{E2E}/test_install_page.py",)
OLDEST_KUEUE = [*KUEUE_VERSIONS][-1]
# The components for tests that are not long: all the others take minutes to build.
QUICK_COMPONENTS = "coscheduler,jobset,training-operator"
QUICK, LONG, KUEUE = ("-m", "not long"), ("-m", "long"), ("-m", "kueue")
ON_A_NODE = ("test", "test-long", "e2e")
WITH_TORCH = ("test-long", "e2e")


def run(target: str) -> int:
    """Run one target by its name in the Makefile. Return the exit code."""
    without_node, took = e2e_packages.settle() if target in ON_A_NODE else ("", ())
    if without_node and target == "e2e":
        print(f"error: e2e cannot run here. {without_node}", file=sys.stderr)
        return 1
    node = target in ON_A_NODE and not without_node
    without_torch = e2e_packages.without_torch() if node and target in WITH_TORCH else ""
    if without_node:
        print(f"left out: e2e ({without_node})", flush=True)
    if without_torch:
        print(f"left out: e2e with torchrun ({without_torch})", flush=True)
    torch = node and target in WITH_TORCH and not without_torch
    plan = calibration.measured()
    print(plan, flush=True)
    os.environ[slowness.VARIABLE] = f"{plan.slowness:.2f}"  # every part inherits it
    first, beside = parts(target, plan.workers, node=node, torch=torch)
    at_once = plan.long_at_once if target == "test-long" else plan.at_once
    return run_all(first, beside, at_once, took)


def parts(target: str, workers: int, *, node: bool, torch: bool) -> tuple[list[Part], list[Part]]:
    """Return what runs first, one after the other, and what runs side by side, the longest first.

    On a slow machine the last ones wait until others have ended.
    """
    image = (*(["--real-node"] if node else ()), *(["--torch"] if torch else ()))
    long_on_a_node = LONG if torch else ("-m", "long and not torch")
    if target == "e2e":
        return [build("--with", "cert-manager,training-operator", *image)], [
            pytest_run("e2e", E2E, *QUICK),
            pytest_run("e2e, long", E2E, *long_on_a_node),
        ]
    if target == "test-long":
        oldest = ("--kueue", OLDEST_KUEUE)
        return [build("--with", "all", *image), build(*oldest, "--beside")], [
            pytest_run("exclusive", EXCLUSIVE, *_but(LONGEST_EXCLUSIVE), *LONG),
            pytest_run("exclusive, longest", *LONGEST_EXCLUSIVE, *LONG),
            *(
                (
                    pytest_run("e2e", E2E, *_but(INSTALLING), *long_on_a_node),
                    pytest_run("e2e, installing", *INSTALLING, *LONG),
                )
                if node
                else ()
            ),
            # The tests of Kueue on its oldest version: all others run on the newest alone.
            pytest_run("oldest Kueue", EXCLUSIVE, NODES, *KUEUE, *oldest),
            pytest_run("nodes", NODES, *LONG),
            pytest_run("oldest Kueue, shared", SHARED, *KUEUE, *oldest),
            pytest_run("shared", "-n", str(workers), SHARED, *LONG),
        ]
    # They only compute, and the others mostly wait. In one process each: a worker would collect
    # 5,500 tests first.
    without_cluster = (
        pytest_run("simulation", "tests/simulation"),
        pytest_run("unit", "tests/unit"),
        Part("lint", ("make", "lint")),
    )
    return [build("--with", QUICK_COMPONENTS, *image)], [
        pytest_run("shared", "-n", str(workers), SHARED, *QUICK),
        pytest_run("exclusive", EXCLUSIVE, *QUICK),
        *([pytest_run("e2e", E2E, *QUICK)] if node else ()),
        pytest_run("nodes", NODES, *QUICK),
        *(replace(part, background=True) for part in without_cluster if target == "test"),
    ]


def _but(files: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"--ignore={file}" for file in files)


def main() -> int:
    """Run the target that the command line names."""
    return run(sys.argv[1])


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main())
