"""`make test`: lint, the build of the real components, then all tests in one pytest run.

Each part's duration is printed as it ends; pytest's summary closes the output and its exit code is
ours. The first part that fails ends the run. What is left out on this machine is said at the start.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One step of `make test`."""

    name: str
    command: tuple[str, ...]


PARTS = (
    Part("lint", ("make", "lint")),
    # Built before pytest so that its progress is visible and no test's time limit pays for it.
    Part(
        "build of the cluster's components",
        (sys.executable, "-m", "localcluster", "build", "--with", "all"),
    ),
)
TESTS = Part(
    "unit and integration tests",
    (sys.executable, "-m", "pytest", "-v", "tests/unit", "tests/integration"),
)
LEFT_OUT = (
    "e2e (real node, our images): there are no images yet",
    "chaos matrix: comes with take-over and replicas",
)


def run(part: Part, environment: dict[str, str]) -> tuple[int, float]:
    """The exit code and the seconds a part took."""
    began = time.monotonic()
    code = subprocess.run(part.command, check=False, env=environment).returncode
    return code, time.monotonic() - began


def main() -> int:
    """Runs the parts in order."""
    print(
        "make test: lint, build, unit and integration tests. Warm about 40 minutes, cold about 55."
    )
    for text in LEFT_OUT:
        print(f"left out: {text}")
    took: list[str] = []
    for part in PARTS:
        print(f"== {part.name}", flush=True)
        code, seconds = run(part, dict(os.environ))
        took.append(f"{part.name}: {seconds:.0f} s")
        print(f"== {took[-1]}", flush=True)
        if code != 0:
            print(f"error: {part.name} failed (exit code {code}); nothing after it was run")
            return code
    # tests/conftest.py prints these with the times of its own parts, so that pytest's line is last.
    environment = {**os.environ, "TEST_PARTS_TOOK": "\n".join(took)}
    print(f"== {TESTS.name}", flush=True)
    return run(TESTS, environment)[0]


if __name__ == "__main__":
    sys.exit(main())
