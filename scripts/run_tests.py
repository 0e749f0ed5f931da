"""Builds for and runs `make test`, `test-long`, `integration` and `e2e`.

Tests that share one cluster run on workers side by side. Tests with a cluster of their own, and
tests on a real node, run beside them, each in a process of its own. The start of the output lists
the tests that cannot run on this machine.
"""

import os
import sys
from collections.abc import Sequence

from localcluster.machine import slowness
from localcluster.machine.interrupts import end_with_parent
from localcluster.programs.catalogue import KUEUE_VERSIONS
from scripts import calibration, e2e_packages
from scripts.parts import Part, build, pytest_run, run_all

SHARED, EXCLUSIVE, E2E = "tests/integration/shared", "tests/integration/exclusive", "tests/e2e"
NODES, SIMULATION = "tests/integration/nodes", "tests/simulation"
OLDEST_KUEUE = [*KUEUE_VERSIONS][-1]
# The components for tests that are not long: all the others take minutes to build.
QUICK_COMPONENTS = "coscheduler,jobset,training-operator"
QUICK, LONG = ("-m", "not long"), ("-m", "long")
LONG_WITHOUT_TORCH = ("-m", "long and not torch")
ON_A_NODE = ("test", "test-long", "e2e")
WITH_TORCH = ("test-long", "e2e")
LINT = Part("lint", ("make", "lint"))


def run(target: str) -> int:
    """Run one target by its name in the Makefile. Return the exit code."""
    without_node, took = e2e_packages.settle() if target in ON_A_NODE else ("", ())
    if without_node and target == "e2e":
        print(f"error: e2e cannot run here. {without_node}", file=sys.stderr)
        return 1
    node = target in ON_A_NODE and not without_node
    without_torch = e2e_packages.without_torch() if node and target in WITH_TORCH else ""
    left_out = [f"e2e ({without_node})"] if without_node else []
    left_out += [f"e2e with torchrun ({without_torch})"] if without_torch else []
    for text in left_out:
        print(f"left out: {text}", flush=True)
    torch = node and target in WITH_TORCH and not without_torch
    plan = calibration.measured()
    print(plan, flush=True)
    os.environ[slowness.VARIABLE] = f"{plan.slowness:.2f}"  # every part inherits it
    first = steps(target, node=node, torch=torch)
    side_by_side = beside(target, plan.workers, node=node, torch=torch)
    return run_all(first, side_by_side, at_once(target, plan.at_once), took)


def at_once(target: str, carried: int) -> int:
    """Return how many test runs of the target run at once where the machine carries `carried`.

    The long tests mostly wait: one run after the other would leave the cores idle.
    """
    return max(carried, 2) if target == "test-long" else carried


def steps(target: str, *, node: bool, torch: bool) -> Sequence[Part]:
    """Return the parts that come first, one after the other."""
    image = ("--torch",) if torch else ()
    if target == "e2e":
        return (build("--with", "cert-manager,training-operator", "--real-node", *image),)
    components = "all" if target == "test-long" else QUICK_COMPONENTS
    built = build("--with", components, *(("--real-node",) if node else ()), *image)
    if target == "test-long":
        return (built, build("--kueue", OLDEST_KUEUE, "--beside"))
    return (built,)


def beside(target: str, workers: int, *, node: bool, torch: bool) -> Sequence[Part]:
    """Return the test runs that run side by side, the longest first.

    On a slow machine the last ones wait until others have ended.
    """
    long_on_the_node = LONG if torch else LONG_WITHOUT_TORCH
    if target == "e2e":
        return (pytest_run("e2e", E2E, *QUICK), pytest_run("e2e, long", E2E, *long_on_the_node))
    marked = LONG if target == "test-long" else QUICK
    which = long_on_the_node if target == "test-long" else QUICK
    on_the_node = (pytest_run("e2e", E2E, *which),) if node else ()
    # The exclusive tests take longest.
    alone = pytest_run("exclusive", EXCLUSIVE, *marked)
    side_by_side = pytest_run("shared", "-n", str(workers), SHARED, *marked)
    if target == "test-long":
        # Five clusters that start at once do not all start.
        nodes = pytest_run("nodes", NODES, *marked, after=side_by_side.name)
        return (alone, side_by_side, *on_the_node, on_the_oldest_kueue(), nodes)
    nodes = pytest_run("nodes", NODES, *marked)
    if target == "integration":
        return (alone, side_by_side, nodes)
    # In one process: each worker would collect 5,500 tests first.
    without_cluster = (pytest_run("simulation", SIMULATION), pytest_run("unit", "tests/unit"))
    # Lint, the shortest, fills the end. Before all others it would keep one core idle.
    return (alone, side_by_side, *on_the_node, nodes, *without_cluster, LINT)


def on_the_oldest_kueue() -> Part:
    """Return the tests of Kueue on its oldest version: all others run on the newest alone."""
    marked = ("-m", "kueue")
    version = ("--kueue", OLDEST_KUEUE)
    return pytest_run(f"kueue {OLDEST_KUEUE}", "tests/integration", *marked, *version)


def main() -> int:
    """Run the target that the command line names."""
    return run(sys.argv[1])


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main())
