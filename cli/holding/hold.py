"""Run `appwrapper hold`: read, ask before a running one stops, then annotate each one."""

import argparse
from collections.abc import Sequence
from typing import Final

from cli.cancelling.selection import shown, target
from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster, connected
from cli.cluster.identity import own_name
from cli.command import ExitCode
from cli.confirming import confirm
from cli.hints import command_for
from cli.holding.results import Result, result_of, write
from cli.holds import held_text, release_command
from cli.phases import ENDED
from cli.terminal import CommandTerminal
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_HELD_BY, ANNOTATION_HOLD
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Conflict, NotFound, PatchType

# The controller may write the status of a waiting one between the read and the patch.
_TRIES: Final = 5
_WITH_PODS: Final = frozenset({"Resuming", "Running", "Resetting"})


async def hold(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Hold the named AppWrappers. Raises CommandError unless the user confirms."""
    async with connected(arguments, terminal.warn) as cluster:
        reader = AppWrapperReader(cluster, cluster.namespace)
        names = dict.fromkeys(arguments.names)
        found = [AppWrapper(await reader.appwrapper(each)) for each in names]
        _confirm([each for each in found if _stops(each)], cluster, arguments, terminal)
        user = await own_name(cluster.client)
        results = [await result_of(each.name, _hold(cluster, each, user)) for each in found]
        return write(results, terminal)


def _stops(appwrapper: AppWrapper) -> bool:
    """True if a hold deletes pods."""
    runs = appwrapper.status.get("phase") in _WITH_PODS
    return runs and not (appwrapper.held or _refusal(appwrapper))


def _refusal(appwrapper: AppWrapper) -> str:
    """Return why it cannot be held; "" if it can."""
    name, phase = appwrapper.name, appwrapper.status.get("phase")
    if appwrapper.deletion_requested:
        return f"{name} is being deleted: there is nothing to hold"
    if phase in ENDED:
        return f"{name} has ended ({phase}): there is nothing to hold"
    if not appwrapper.is_ours:
        manager = appwrapper.spec.get("managedBy")
        return f"{name} is managed by {manager}, which knows no hold"
    return ""


def _confirm(
    running: Sequence[AppWrapper],
    cluster: Cluster,
    arguments: argparse.Namespace,
    terminal: CommandTerminal,
) -> None:
    if arguments.yes or not running:
        return
    listing = shown([*map(target, running)], cluster.namespace, cluster.now())
    them = "it" if len(running) == 1 else "them"
    confirm(f"{listing}Stop {them} and delete all pods?", "nothing was held", terminal)


async def _hold(cluster: Cluster, appwrapper: AppWrapper, user: str) -> Result:
    """Annotate the object that was read: a running one as it is, a waiting one unless it starts."""
    asked, uid = _stops(appwrapper), appwrapper.uid
    for _ in range(_TRIES):
        if appwrapper.uid != uid:
            return Result(f"{appwrapper.name} was replaced by a new AppWrapper meanwhile", False)
        if refusal := _refusal(appwrapper):
            return Result(refusal, False)
        if appwrapper.held:
            return Result(f"{appwrapper.name} is {held_text(appwrapper)} already.")
        stops = _stops(appwrapper)
        if stops and not asked:
            again = f"to stop it run: {command_for(appwrapper, 'hold')}"
            return Result(f"{appwrapper.name} has started meanwhile: {again}", False)
        try:
            await cluster.client.patch(
                APPWRAPPERS,
                cluster.namespace,
                appwrapper.name,
                _annotated(appwrapper, user, exact=not stops),
                PatchType.MERGE,
            )
        except NotFound:
            return Result(f"{appwrapper.name} is gone.")
        except Conflict:
            reader = AppWrapperReader(cluster, cluster.namespace)
            appwrapper = AppWrapper(await reader.appwrapper(appwrapper.name))
            continue
        until = f"until you run: {release_command(appwrapper)}"
        does = "stops: its pods are being deleted, and it stays held" if stops else "is held"
        return Result(f"{appwrapper.name} {does} {until}")
    return Result(f"{appwrapper.name} changes all the time: try again", False)


def _annotated(appwrapper: AppWrapper, user: str, *, exact: bool) -> JsonObject:
    """Return the patch. `exact`: only of this version."""
    version = {"resourceVersion": appwrapper.resource_version} if exact else {}
    annotations = {ANNOTATION_HOLD: "true", ANNOTATION_HELD_BY: user}
    return {"metadata": {"uid": appwrapper.uid, **version, "annotations": annotations}}
