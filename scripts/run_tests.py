"""`make test`: lint, the build of the real components, then all tests in one pytest run.

Each part's duration is printed as it ends; pytest's summary closes the output and its exit code is
ours. The first part that fails ends the run. What is left out on this machine is said at the start.
"""

import sys

from scripts import e2e_packages
from scripts.parts import Part, build, end_in_order, run_all, tests

FOLDERS = ("tests/unit", "tests/integration")
E2E = "tests/e2e"  # last: only the idle cluster of the integration tests is still there
CHAOS = "chaos matrix: comes with take-over and replicas"


def main() -> int:
    """Runs the parts in order."""
    print("make test: lint, build, unit, integration and e2e tests. Warm about 50 minutes.")
    without_e2e, took = e2e_packages.settle()
    left_out = [f"e2e ({without_e2e})"] if without_e2e else []
    for text in (*left_out, CHAOS):
        print(f"left out: {text}", flush=True)
    real_node = () if without_e2e else ("--real-node",)
    folders = FOLDERS if without_e2e else (*FOLDERS, E2E)
    parts = (Part("lint", ("make", "lint")), build("--with", "all", *real_node))
    kinds = [folder.removeprefix("tests/") for folder in folders]
    return run_all(parts, tests(f"tests: {', '.join(kinds)}", *folders), took)


if __name__ == "__main__":
    end_in_order()
    sys.exit(main())
