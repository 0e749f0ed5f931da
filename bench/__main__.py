"""Runs `python -m bench`, the command of `make bench`."""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import orjson
from rich.console import Console
from rich.markdown import Markdown

from bench import machine
from bench.arena import Arena
from bench.circumstances import Circumstances, measured_by
from bench.errors import BenchError
from bench.plan import BenchPlan, parse
from bench.profile.run import profile
from bench.profile.tables import Profile
from bench.recorded import Recorded
from bench.run import run
from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.interrupts import Interrupted, end_with_parent, interruptible
from localcluster.machine.progress import Reporter, reporter_for
from shared.api.objects import JsonObject
from shared.kube.client import KubeError


def main(given: Sequence[str]) -> int:
    """Returns the exit code: 0, 1 after an error, 2 for wrong usage, 130 for Ctrl-C."""
    plan, file = parse(given)
    # If make is killed with `kill -9`, this process must end too: else the cluster would stay.
    end_with_parent()
    began = time.monotonic()
    circumstances = Circumstances.gather(measured_by(given))
    try:
        measured = interruptible(_measure(plan, reporter_for(sys.stderr)))
    except Interrupted:
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130
    except (BenchError, LocalClusterError, KubeError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    run = measured(circumstances.ended(began))
    _show(run.as_json(), run.markdown(), file)
    return 0


async def _measure(
    plan: BenchPlan, reporter: Reporter
) -> Callable[[Circumstances], Recorded | Profile]:
    reporter(f"This machine: {machine.description()}.")
    reporter(
        "All parts take about 22 minutes on two cores once everything is built, --quick takes"
        " three, --profile ten, --scale 30. The figures are good only if nothing else runs"
        " meanwhile.",
    )
    async with LocalCluster(ClusterOptions(), reporter) as cluster:
        try:
            arena = await Arena.prepare(cluster)
            if plan.profile:
                return partial(Profile, tables=await profile(arena, plan))
            return partial(Recorded, sections=await run(arena, plan))
        except (BenchError, LocalClusterError, KubeError):
            reporter(f"The logs are kept in {cluster.keep_logs()}.")
            raise


def _show(found: JsonObject, shown: str, file: str | None) -> None:
    if file is not None:
        text = orjson.dumps(found, option=orjson.OPT_INDENT_2)
        if file == "-":
            print(text.decode())
            return
        Path(file).write_bytes(text + b"\n")
    if sys.stdout.isatty():
        Console().print(Markdown(shown))
    else:
        print(shown, end="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
