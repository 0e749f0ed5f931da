"""Run `appwrapper cancel`: choose, ask, delete, and wait with --wait.

Deletes in the background, as kubectl does: the controller's finalizer keeps the AppWrapper until
its pods are gone, and Kueue releases the quota then. (With foreground deletion Kueue since 0.18
releases it earlier.)
"""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from cli.cancelling.selection import CancelTarget, living, not_own, shown, target
from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster, connected
from cli.cluster.identity import own_name
from cli.command import CommandError, ExitCode
from cli.confirming import confirm
from cli.creators import creator_selector
from cli.terminal import CommandTerminal, harmless
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Conflict, NotFound, Propagation
from shared.waits.words import counted

_AT_ONCE: Final = 8


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Cancel the chosen AppWrappers. Raises CommandError unless the user confirms."""
    async with connected(arguments) as cluster:
        user = await own_name(cluster.client) if arguments.me else ""
        targets = await _chosen(cluster, arguments, user)
        if not targets:
            whose = f"of {user} " if user else ""
            terminal.write(
                f"Nothing to cancel: namespace {cluster.namespace} has no chosen AppWrapper"
                f" {whose}that has not ended.\n"
            )
            return ExitCode.FINE
        _confirm(targets, cluster, arguments, terminal)
        replaced = await _delete(cluster, targets, terminal)
        if arguments.wait:
            from cli.cancelling.waiting import until_gone

            uids = {each.uid for each in targets}
            await until_gone(cluster, uids, lambda text: _report(text, terminal))
            terminal.write(f"{counted(len(targets) - len(replaced), 'AppWrapper')} gone.\n")
        for each in replaced:
            terminal.warn(f"{each.name} was replaced by a new AppWrapper meanwhile: left alone")
    return ExitCode.WANTING if replaced else ExitCode.FINE


async def _chosen(cluster: Cluster, arguments: argparse.Namespace, user: str) -> list[CancelTarget]:
    if arguments.names:
        reader = AppWrapperReader(cluster, cluster.namespace)
        names = dict.fromkeys(arguments.names)
        named = [AppWrapper(await reader.appwrapper(each)) for each in names]
        if user and (error := not_own(named, user)):
            raise CommandError(error)
        return [target(each) for each in named]
    selectors = [arguments.selector, creator_selector(user) if user else None]
    pages = cluster.client.pages(
        APPWRAPPERS, cluster.namespace, label_selector=",".join(filter(None, selectors))
    )
    found = [AppWrapper(each) async for page in pages for each in page.items]
    return sorted(map(target, living(found, user)), key=lambda each: each.name)


def _confirm(
    targets: Sequence[CancelTarget],
    cluster: Cluster,
    arguments: argparse.Namespace,
    terminal: CommandTerminal,
) -> None:
    """Show what is deleted and ask. Raises CommandError."""
    if arguments.yes:
        return
    listing = shown(targets, cluster.namespace, cluster.now())
    them = "this AppWrapper" if len(targets) == 1 else f"these {len(targets)} AppWrappers"
    confirm(f"{listing}Delete {them} and all pods?", "nothing was cancelled", terminal)


async def _delete(
    cluster: Cluster, targets: Sequence[CancelTarget], terminal: CommandTerminal
) -> list[CancelTarget]:
    """Delete each object by its UID. Return the targets that another object replaced."""
    slots = asyncio.Semaphore(_AT_ONCE)
    replaced: list[CancelTarget] = []

    async def one(each: CancelTarget) -> None:
        async with slots:
            try:
                await cluster.client.delete(
                    APPWRAPPERS,
                    cluster.namespace,
                    each.name,
                    uid=each.uid,
                    propagation=Propagation.BACKGROUND,
                )
            except NotFound:
                terminal.write(f"{each.name} is gone.\n")
            except Conflict:
                replaced.append(each)
            else:
                terminal.write(f"{each.name} is being deleted.\n")

    # The first failure must not hide the answers of the others.
    answers = await asyncio.gather(*map(one, targets), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    terminal.stdout.flush()
    return replaced


def _report(text: str, terminal: CommandTerminal) -> None:
    terminal.stderr.write(f"{harmless(text)}\n")
    terminal.stderr.flush()
