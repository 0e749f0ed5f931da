"""What the documents tell people to type works, word for word."""

import os
import re
from pathlib import Path

from localcluster.child import captured
from localcluster.cluster import LocalCluster

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = re.compile(
    r"^NAME +STATUS +QUOTA RESERVED +RESOURCES DEPLOYED +UNHEALTHY +AGE\n"
    # It may be too young for a status.
    r"sample-job +(Suspended|Resuming|Running|Succeeded|\d).*$",
    re.MULTILINE,
)


def commands_below(heading: str, page: str) -> str:
    """The first shell block below a heading of a page."""
    text = (REPOSITORY / page).read_text()
    below = text[text.index(f"\n{heading}\n") :]
    block = re.search(r"```sh\n(.*?)```", below, re.DOTALL)
    assert block is not None
    return block[1]


async def test_the_readme_starts_a_cluster_runs_a_sample_and_leaves_nothing(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    script = "set -euo pipefail\n" + commands_below("## Try your own", "README.md")
    # Its own temporary folder: a cluster that the person at this machine started stays untouched.
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "PATH": f"{cluster.kubectl.parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    for inherited in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # a person's make is not below another
        environment.pop(inherited, None)
    try:
        code, output = await captured(
            ("bash", "-c", script), environment=environment, folder=REPOSITORY
        )
        left = [path.name for path in tmp_path.iterdir() if path.name.startswith("appwrapper")]
    finally:
        # Where the script stopped half-way, its cluster must not stay.
        await captured(("make", "down"), environment=environment, folder=REPOSITORY)
    assert code == 0, output
    assert "appwrapper.workload.codeflare.dev/sample-job created" in output
    assert TABLE.search(output), output
    assert left == []
