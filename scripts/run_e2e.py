"""`make e2e`: what it needs of Debian, the build of programs and images, then the tests.

Says what is missing on a machine where it cannot run, and exits with 1 there.

Two pytest runs at once, since both wait for most of their time: what shares one cluster, and what
needs none or has its own. The way from the Go operator and back is left to `make test`: that
operator has to be built for it, and takes minutes to start with certificates.
"""

import sys

from scripts import e2e_packages
from scripts.parts import build, end_in_order, run_all, tests

FOLDER = "tests/e2e"
BY_THEMSELVES = (
    "tests/e2e/test_install_page.py",
    "tests/e2e/test_leaves_nothing.py",
    "tests/e2e/test_image_bases.py",
    "tests/e2e/test_image_layouts.py",
    "tests/e2e/test_image_processes.py",
    "tests/e2e/test_images.py",
)
GO_OPERATOR = (
    "tests/e2e/test_install_page.py"
    "::test_in_place_of_the_go_operator_and_back_nothing_that_runs_is_touched"
)


def main() -> int:
    """Runs the parts in order."""
    cannot, took = e2e_packages.settle()
    if cannot:
        print(f"error: e2e cannot run here. {cannot}", file=sys.stderr)
        return 1
    ignored = (f"--ignore={each}" for each in BY_THEMSELVES)
    return run_all(
        (build("--real-node"),),
        tests("e2e tests on one cluster", FOLDER, *ignored),
        took,
        beside=tests("other e2e tests", *BY_THEMSELVES, f"--deselect={GO_OPERATOR}"),
    )


if __name__ == "__main__":
    end_in_order()
    sys.exit(main())
