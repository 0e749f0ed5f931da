"""Writes tests/golden/pod_schema.json anew: `python -m scripts.pod_schema`, after a new Kubernetes.

It is what unit tests know of pods, and comes from the pinned API server, started for that: too much
for `make generate`. An integration test compares it with the API server that is running.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Final

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.progress import reporter_for
from shared.api.objects import JsonObject
from shared.pod_schema.definitions import definitions_of
from shared.pod_schema.pod_schema import Definitions

REPOSITORY: Final = Path(__file__).resolve().parents[1]
GOLDEN: Final = REPOSITORY / "tests" / "golden" / "pod_schema.json"


def text_of(definitions: Definitions) -> str:
    """The golden file: one line a field, so that a new Kubernetes shows as the fields it adds."""
    return json.dumps(definitions, indent=1, sort_keys=True) + "\n"


async def _document() -> JsonObject:
    options = ClusterOptions(nodes=0, product=False)
    async with LocalCluster(options, reporter_for()) as cluster:
        return await cluster.client.get_path("/openapi/v3/api/v1")


def main() -> int:
    """Starts a cluster, asks it, writes the file."""
    GOLDEN.write_text(text_of(definitions_of(asyncio.run(_document()))))
    print(f"wrote {GOLDEN.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
