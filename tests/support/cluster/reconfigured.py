"""A program of the shared cluster, for a while, under another configuration."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject


@asynccontextmanager
async def reconfigured(
    cluster: LocalCluster, program: str = "webhook", **changes: Any
) -> AsyncGenerator[JsonObject, None]:
    """Restarts it with `changes` to the section `appwrapper`; yields the whole configuration.

    The same process, started twice: so no request is refused but those that come in between.
    """
    command = cluster.processes[program].spec.command
    file = cluster.directory / "product" / f"{program}.yaml"
    assert str(file) in command
    before = file.read_text()
    configuration: JsonObject = yaml.safe_load(before)
    configuration["appwrapper"] = configuration.get("appwrapper", {}) | changes
    file.write_text(yaml.safe_dump(configuration))
    try:
        await cluster.processes.restart(program)
        yield configuration
    finally:
        file.write_text(before)
        await cluster.processes.restart(program)
