"""`make e2e`: what it needs of Debian, the build of programs and images, then the tests.

Says what is missing on a machine where it cannot run, and exits with 1 there.
"""

import sys

from scripts import e2e_packages
from scripts.parts import build, run_all, tests


def main() -> int:
    """Runs the parts in order."""
    cannot, took = e2e_packages.settle()
    if cannot:
        print(f"error: e2e cannot run here. {cannot}", file=sys.stderr)
        return 1
    return run_all((build("--real-node"),), tests("e2e tests", "tests/e2e"), took)


if __name__ == "__main__":
    sys.exit(main())
