"""Run `appwrapper resubmit`: read the ended AppWrapper, create the new one."""

import argparse
from collections.abc import Iterable, Mapping
from typing import Final

from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster, connected
from cli.command import CommandError, ExitCode
from cli.hints import command_for
from cli.listing.why import blocked
from cli.phases import ENDED
from cli.resubmitting.copied import (
    end_of_components,
    names_in_use,
    next_name,
    original_name,
    resubmitted,
)
from cli.terminal import CommandTerminal
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube import requests
from shared.kube.client import AlreadyExists, PatchType
from shared.waits.words import few

# Another user can take a name between the list and the create.
_TRIES: Final = 5
# The longest wait for the old one's components, and between two reads.
_SECONDS: Final = 120.0
_EVERY: Final = 0.5


async def run(
    arguments: argparse.Namespace, settings: Mapping[str, str], terminal: CommandTerminal
) -> ExitCode:
    """Create the new AppWrapper, or check it with --dry-run. Raises CommandError, ApiError."""
    async with connected(arguments, terminal.warn) as cluster:
        reader = AppWrapperReader(cluster, cluster.namespace)
        old = AppWrapper(await reader.appwrapper(arguments.name))
        _refuse_living(old)
        await _free_names(cluster, old, arguments, terminal)
        names = [str(each["metadata"]["name"]) for each in await reader.all()]
        made = await _created(cluster, old, settings, names, dry_run=arguments.dry_run)
    _print(made, old, arguments, terminal)
    return ExitCode.FINE


def _refuse_living(old: AppWrapper) -> None:
    phase = str(old.status.get("phase") or "")
    if phase not in ENDED:
        state = phase or "new"
        raise CommandError(
            f"{old.name} has not ended (it is {state}): resubmit copies AppWrappers that are"
            f" Succeeded or Failed. End it first: {command_for(old, 'cancel')}. Then submit"
            " its file again"
        )


async def _free_names(
    cluster: Cluster, old: AppWrapper, arguments: argparse.Namespace, terminal: CommandTerminal
) -> None:
    """Have the old one's components deleted, if the new one needs their names.

    With an existing component of the same name the new one would fail. The old AppWrapper stays.
    Raises CommandError without --remove-old.
    """
    in_use = names_in_use(old)
    if not in_use or arguments.dry_run:
        return
    if not arguments.remove_old:
        raise CommandError(
            f"{old.name} still has {few(in_use)}, and the new one needs the same names. Add"
            f" --remove-old: the components and pods of {old.name}, also kept volumes, are deleted"
            f" first, and AppWrapper {old.name} stays",
            ExitCode.WANTING,
        )
    annotations = {"metadata": {"annotations": end_of_components(old)}}
    await cluster.client.patch(
        APPWRAPPERS, cluster.namespace, old.name, annotations, PatchType.MERGE
    )
    ends_at = cluster.clock.monotonic() + _SECONDS
    with terminal.progress(f"Deleting the components of {old.name}"):
        while names_in_use(old):
            if cluster.clock.monotonic() >= ends_at:
                why = blocked(old) or f"{command_for(old, 'explain')} shows why"
                raise CommandError(f"{old.name} still has components: {why}. Run this again")
            await cluster.clock.sleep(_EVERY)
            old = AppWrapper(await cluster.client.get(APPWRAPPERS, cluster.namespace, old.name))


async def _created(
    cluster: Cluster,
    old: AppWrapper,
    settings: Mapping[str, str],
    existing: Iterable[str],
    *,
    dry_run: bool,
) -> JsonObject:
    taken = [*existing]
    for _ in range(_TRIES):
        body = resubmitted(old, next_name(original_name(old), taken), settings)
        try:
            return await cluster.client.send(
                requests.create(APPWRAPPERS, cluster.namespace, body, dry_run=dry_run)
            )
        except AlreadyExists:
            taken.append(body["metadata"]["name"])
    raise CommandError(f"names such as {taken[-1]} are taken again and again: try once more")


def _print(
    made: JsonObject, old: AppWrapper, arguments: argparse.Namespace, terminal: CommandTerminal
) -> None:
    name = made["metadata"]["name"]
    if arguments.output == "name":
        terminal.write(f"{name}\n")
    elif arguments.output == "text":
        done = "would be created" if arguments.dry_run else "was created"
        terminal.write(f"{name} {done} from {old.name}.\n")
    else:
        terminal.write_data(made, arguments.output)
