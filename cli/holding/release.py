"""Run `appwrapper release`: remove the annotation that holds each AppWrapper."""

import argparse

from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster, connected
from cli.command import ExitCode
from cli.holding.results import Result, result_of, write
from cli.phases import ENDED
from cli.terminal import CommandTerminal
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_HELD_BY, ANNOTATION_HOLD
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Conflict, NotFound, PatchType


async def release(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Release the named AppWrappers. Raises CommandError if one does not exist."""
    async with connected(arguments, terminal.warn) as cluster:
        reader = AppWrapperReader(cluster, cluster.namespace)
        names = dict.fromkeys(arguments.names)
        found = [AppWrapper(await reader.appwrapper(each)) for each in names]
        results = [await result_of(each.name, _release(cluster, each)) for each in found]
        return write(results, terminal)


async def _release(cluster: Cluster, appwrapper: AppWrapper) -> Result:
    name = appwrapper.name
    if appwrapper.deletion_requested:
        return Result(f"{name} is being deleted: there is nothing to release", False)
    if not appwrapper.held:
        return Result(f"{name} is not held: nothing changed.")
    annotations = {ANNOTATION_HOLD: None, ANNOTATION_HELD_BY: None}
    body = {"metadata": {"uid": appwrapper.uid, "annotations": annotations}}
    try:
        await cluster.client.patch(APPWRAPPERS, cluster.namespace, name, body, PatchType.MERGE)
    except NotFound:
        return Result(f"{name} is gone.")
    except Conflict:
        return Result(f"{name} was replaced by a new AppWrapper meanwhile", False)
    return Result(f"{name} is released{_next(appwrapper)}.")


def _next(appwrapper: AppWrapper) -> str:
    phase = appwrapper.status.get("phase") or ""
    if phase in ENDED:
        return f", and has ended ({phase})"
    if appwrapper.queue_name:
        then = f"it waits in queue {appwrapper.queue_name} again"
    elif appwrapper.suspend:
        then = "it stays suspended (spec.suspend: true)"
    else:
        then = "it starts again"
    return f": {then}" if phase in ("", "Suspended") else f": when its pods are gone, {then}"
