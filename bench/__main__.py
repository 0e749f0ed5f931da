"""Runs `python -m bench`, the command of `make bench`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import orjson
from rich.console import Console

from bench import machine, report
from bench.arena import Arena
from bench.circumstances import Circumstances, measured_by
from bench.errors import BenchError
from bench.load.reviews import LoadFailed
from bench.plan import BenchPlan, Output, parse
from bench.results import ResultSection
from bench.run import run
from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.interrupts import Interrupted, end_with_parent, interruptible
from localcluster.machine.progress import Reporter, reporter_for
from shared.kube.client import KubeError

_WIDTH = 170  # # for output of unknown width


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, 1 for an error on standard error, 2 for wrong usage, 130 for
    Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    plan, output = parse(given)
    # If make is killed with `kill -9`, this process must end too: else the cluster would stay.
    end_with_parent()
    began = time.monotonic()
    circumstances = Circumstances.gather(measured_by(given))
    try:
        sections = interruptible(_measure(plan, reporter_for(sys.stderr)))
    except Interrupted:
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130
    except (BenchError, LocalClusterError, LoadFailed, KubeError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    _show(sections, circumstances.ended(began), output)
    return 0


async def _measure(plan: BenchPlan, reporter: Reporter) -> dict[str, ResultSection]:
    reporter(f"This machine: {machine.description()}.")
    reporter(
        "All parts take about 22 minutes on two cores once everything is built, --quick takes"
        " three. The figures are good only if nothing else runs meanwhile.",
    )
    async with LocalCluster(ClusterOptions(), reporter) as cluster:
        try:
            return await run(await Arena.prepare(cluster), plan)
        except (BenchError, LocalClusterError, LoadFailed, KubeError):
            reporter(f"The logs are kept in {cluster.keep_logs()}.")
            raise


def _show(sections: dict[str, ResultSection], circumstances: Circumstances, output: Output) -> None:
    if output.json is not None:
        text = orjson.dumps(report.as_json(sections, circumstances), option=orjson.OPT_INDENT_2)
        if output.json == "-":
            print(text.decode())
            return
        Path(output.json).write_bytes(text + b"\n")
    if output.markdown:
        print(report.markdown([*sections.values()], circumstances), end="")
        return
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for section in sections.values():
        console.print()
        console.print(report.terminal_table(section))
        for note in section.notes:
            console.print(f"  {note}", markup=False, highlight=False)
    console.print(
        f"\n{circumstances.machine}; {circumstances.seconds / 60:.1f} min. Figures are medians of"
        " the rounds, with their range; ratios are taken round by round.",
        markup=False,
        highlight=False,
    )


if __name__ == "__main__":
    sys.exit(main())
