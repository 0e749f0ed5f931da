"""Runs the demo: `python -m localcluster.demo [--once]`, which is what `make demo` does.

Exits 0 after every sample reached its expected end (with --once) or after Ctrl-C; non-zero with
the reason otherwise. Nothing is left running, however it ends.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.demo.performance import Performance
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.interrupts import Interrupted, end_with_parent, interruptible
from localcluster.machine.progress import reporter_for

COMPONENTS = frozenset({"training-operator", "coscheduler"})


async def perform(*, once: bool) -> int:
    """Starts the cluster, plays the scenario, and stays until interrupted unless `once`."""
    reporter = reporter_for(sys.stdout)
    async with LocalCluster(ClusterOptions(components=COMPONENTS), reporter) as cluster:
        performance = Performance(cluster)
        failures = await performance.play()
        if failures:
            print("\nThe demo did not end as it should:")
            for line in failures:
                print(f"  {line}")
            print(f"Logs: {cluster.keep_logs()}")
            return 1
        if not once:
            performance.print_commands()
            await asyncio.Event().wait()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="exit after the samples")
    options = parser.parse_args(arguments)
    # If make is killed with `kill -9`, the demo must end too: else the cluster would stay.
    end_with_parent()
    try:
        return interruptible(perform(once=options.once))
    except Interrupted:
        print("\nStopped; nothing is left running.")
        return 130 if options.once else 0
    except LocalClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
