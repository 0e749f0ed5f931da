"""Run `appwrapper history`: from its arguments to its output."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.accounting.rows import EndedAppWrapper, UsageTotal, ended_row, in_order, phase_of, totals
from cli.accounting.text import as_csv, table, totals_table
from cli.cluster.connection import connected
from cli.cluster.identity import own_name
from cli.command import CommandError, ExitCode
from cli.creators import creator_selector, is_by, is_by_name
from cli.listing.gather import ListReader, ListScope
from cli.listing.outline import AppWrapperOutline
from cli.phases import ENDED
from cli.reports import as_json, keys_of
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.api.times import DurationError, parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The wanted rows. `own`: `user` is the caller's exact name."""

    user: str
    own: bool
    states: Sequence[str]
    since: timedelta | None

    def takes(self, outline: AppWrapperOutline) -> bool:
        """True if the AppWrapper has ended as wanted and is the user's."""
        appwrapper = outline.appwrapper
        matches = is_by if self.own else is_by_name
        is_wanted = phase_of(appwrapper) in (self.states or ENDED)
        return is_wanted and (not self.user or matches(appwrapper, self.user))

    def takes_end(self, row: EndedAppWrapper, now: datetime) -> bool:
        """True if it ended late enough. An unknown time is late enough."""
        return self.since is None or row.ended is None or now - row.ended <= self.since


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """List the ended AppWrappers, or their totals with --by."""
    since = _since(arguments.since)
    async with connected(arguments) as cluster:
        user = await own_name(cluster.client) if arguments.me else arguments.user
        choice = Choice(user=user or "", own=arguments.me, states=arguments.states, since=since)
        namespace = None if arguments.all_namespaces else cluster.namespace
        selector = creator_selector(user) if user else ""
        reader = ListReader(cluster, ListScope(namespace=namespace, selector=selector))
        outlines, gpus = await asyncio.gather(reader.appwrappers(), reader.gpu_resources())
        now = cluster.now()
        rows = (ended_row(each, gpus, now) for each in outlines if choice.takes(each))
        wanted = in_order((row for row in rows if choice.takes_end(row, now)), arguments.sort)
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    _print(wanted, where, arguments, terminal)
    _complain(wanted, reader, terminal)
    return ExitCode.FINE


def _since(text: str | None) -> timedelta | None:
    if text is None:
        return None
    try:
        since = parse_duration(text)
    except DurationError as error:
        raise CommandError(f"--since: {error}") from error
    if since <= timedelta(0):
        raise CommandError(f"--since {text}: name a time before now, such as 24h or 7d")
    return since


def _print(
    rows: list[EndedAppWrapper],
    where: str,
    arguments: argparse.Namespace,
    terminal: CommandTerminal,
) -> None:
    by, output = arguments.by, arguments.output
    if output not in ("text", "wide"):
        _print_data(rows, by, output, terminal)
    elif not rows:
        terminal.write(f"No AppWrapper that you asked for has ended {where}.\n")
    elif by:
        terminal.write(totals_table(totals(rows, by), by, terminal.width()))
    else:
        wide, width = output == "wide", terminal.width()
        terminal.write(table(rows, namespaces=arguments.all_namespaces, wide=wide, width=width))


def _print_data(
    rows: list[EndedAppWrapper], by: str | None, output: str, terminal: CommandTerminal
) -> None:
    """Write rows or totals. The key of a total's name is `user` or `team`."""
    report: Sequence[object] = totals(rows, by) if by else rows
    rows_of_data: list[JsonObject] = [as_json(each) for each in report]
    found = [_renamed(each, by) for each in rows_of_data]
    if output == "csv":
        keys = keys_of(UsageTotal if by else EndedAppWrapper)
        terminal.write(as_csv(found, list(_renamed(dict.fromkeys(keys), by))))
    else:
        terminal.write_data(found, output)


def _renamed(row: JsonObject, by: str | None) -> JsonObject:
    return {by if by and key == "of" else key: value for key, value in row.items()}


def _complain(
    rows: Sequence[EndedAppWrapper], reader: ListReader, terminal: CommandTerminal
) -> None:
    reasons = [f"{columns} ({why})" for columns, why in reader.unread.items()]
    if unknown := sum(row.gpu_hours is None for row in rows):
        version = "an earlier version of the controller did not record their time with quota"
        reasons.append(f"GPU-HOURS of {unknown} ({version})")
    if reasons:
        terminal.warn(f"not known: {'; '.join(reasons)}")
