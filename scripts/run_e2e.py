"""`make e2e`: what it needs of Debian, the build of programs and images, then the tests.

Says what is missing on a machine where it cannot run, and exits with 1 there.

Two pytest runs at once, since both wait for most of their time: what shares one cluster, and what
has clusters of its own.
"""

import sys

from scripts import e2e_packages
from scripts.parts import build, run_all, tests

FOLDER = "tests/e2e"
CLUSTERS_OF_THEIR_OWN = (
    "tests/e2e/test_install_page.py",
    "tests/e2e/test_leaves_nothing.py",
)


def main() -> int:
    """Runs the parts in order."""
    cannot, took = e2e_packages.settle()
    if cannot:
        print(f"error: e2e cannot run here. {cannot}", file=sys.stderr)
        return 1
    ignored = (f"--ignore={each}" for each in CLUSTERS_OF_THEIR_OWN)
    return run_all(
        (build("--real-node"),),
        tests("e2e tests on one cluster", FOLDER, *ignored),
        took,
        beside=tests("e2e tests with clusters of their own", *CLUSTERS_OF_THEIR_OWN),
    )


if __name__ == "__main__":
    sys.exit(main())
