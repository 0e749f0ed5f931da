"""Writes cli/shipped/pod_schema.json: `python -m scripts.pod_schema`, after a new Kubernetes.

The command without a cluster, and unit tests, take the schema of pods from it. It comes from the
pinned API server, started for that, which takes too long for `make generate`. An integration test
compares it with the running API server's.
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
SHIPPED: Final = REPOSITORY / "cli" / "shipped" / "pod_schema.json"


def text_of(version: JsonObject, definitions: Definitions) -> str:
    """Return the file's text: one line a field, so that a diff shows the fields of a new
    Kubernetes.

    `version` is the API server's answer to /version.
    """
    shipped = {"kubernetes": version["gitVersion"], "definitions": definitions}
    return json.dumps(shipped, indent=1, sort_keys=True) + "\n"


async def _answers() -> tuple[JsonObject, JsonObject]:
    options = ClusterOptions(nodes=0, product=False)
    async with LocalCluster(options, reporter_for()) as cluster:
        document = await cluster.client.get_path("/openapi/v3/api/v1")
        return await cluster.client.get_path("/version"), document


def main() -> int:
    """Start a cluster, request its schema, write the file."""
    version, document = asyncio.run(_answers())
    SHIPPED.write_text(text_of(version, definitions_of(document)))
    print(f"wrote {SHIPPED.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
