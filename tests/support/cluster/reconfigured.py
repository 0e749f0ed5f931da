"""Changes the configuration of a cluster's program: with a restart, or while it runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject


def pause_resets(cluster: LocalCluster, paused: bool) -> None:
    """Edits the file as the kubelet does after an admin's edit of the ConfigMap: all at once."""
    file = cluster.directory / "product" / "controller.yaml"
    configuration = yaml.safe_load(file.read_text())
    configuration.setdefault("appwrapper", {})["pauseResets"] = paused
    edited = file.with_suffix(".edited")
    edited.write_text(yaml.safe_dump(configuration))
    edited.replace(file)


@asynccontextmanager
async def reconfigured(
    cluster: LocalCluster, program: str = "webhook", **changes: Any
) -> AsyncGenerator[JsonObject, None]:
    """Restarts it with `changes` to the section `appwrapper`; yields the whole configuration.

    The same process is started twice, so only requests in between are refused.
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
