"""Records lives on real parts for the simulation: `python -m tests.support.record_lives`.

Starts a local cluster and writes one file of tests/golden/lives for each life. Prints how late each
program acted, for the table tests/simulation/lags.py. Takes some minutes.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Final

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.progress import reporter_for
from tests.simulation.measured_lags import lags_of, table
from tests.support.cluster.recorded_lives import (
    APPWRAPPER_LIVES,
    JOB_LIVES,
    Recorded,
    record_appwrapper,
    record_job,
)
from tests.support.team import NAMESPACE

FOLDER: Final = Path(__file__).parents[1] / "golden" / "lives"


async def record_all() -> dict[str, Recorded]:
    """Record each life on one cluster, one after the other."""
    found: dict[str, Recorded] = {}
    async with LocalCluster(ClusterOptions(), reporter_for()) as cluster:
        for name, life in JOB_LIVES.items():
            found[name] = await record_job(cluster, name.replace("_", "-"), life)
            write(name, found[name])
        for name, life in APPWRAPPER_LIVES.items():
            found[name] = await record_appwrapper(cluster, NAMESPACE, life)
            write(name, found[name])
    return found


def write(name: str, life: Recorded, folder: Path = FOLDER) -> None:
    """Write a life with one write a line, so that a difference is easy to read."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f'"{key}": {json.dumps(life[key], sort_keys=True)}' for key in ("about", "acts")]
    for key in ("objects", "writes"):
        lines = ",\n".join(json.dumps(each, sort_keys=True) for each in life[key])
        parts.append(f'"{key}": [\n{lines}\n]')
    (folder / f"{name}.json").write_text("{" + ",\n".join(parts) + "}\n")


def main() -> int:
    lives = asyncio.run(record_all())
    print(table(lags_of(lives.values())))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
