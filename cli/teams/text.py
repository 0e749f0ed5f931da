"""Print the reports of `team` for people."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.cluster.kueue import Quota
from cli.prose import Prose
from cli.tables import new_table
from cli.teams.inspect import TeamList
from cli.teams.plan import Action, Difference, ObjectPlan, TeamPlan, described_subject
from cli.teams.quotas import CapacityRow
from cli.teams.removal import Removal
from cli.teams.team_report import TeamReport
from shared.api.amounts import added_up, amount_text
from shared.waits.quota import written_quotas

_table: Final = partial(new_table, gap=3, header_style="bold")
_UNKNOWN: Final = "?"  # it could not be read
_DONE: Final = {Action.CREATE: "created", Action.CHANGE: "changed", Action.KEEP: "unchanged"}
_PLANNED: Final = {Action.CREATE: "create", Action.CHANGE: "change", Action.KEEP: "unchanged"}
_COLOURS: Final = {Action.CREATE: "green", Action.CHANGE: "yellow", Action.KEEP: ""}


def print_plan(plan: TeamPlan, console: Console) -> None:
    """Print the changes that `team create` made or would make, and the sums of quotas."""
    console.print(_headline(plan))
    console.print()
    console.print(_changes(plan))
    for each in plan.objects:
        for left in each.left:
            if _is_long(left):
                text = f"{each.kind} {each.name}, {left.field}: {left.remedy}"
                console.print(Prose(text), crop=False)
    for flavor in dict.fromkeys(row.flavor for row in plan.capacity):
        console.print()
        console.print(f"All quotas of flavor {flavor} and what pods can have of its nodes:")
        console.print(_sums([row for row in plan.capacity if row.flavor == flavor]))
    _print_notes(plan.warnings, console)


def print_teams(found: TeamList, console: Console, *, wide: bool) -> None:
    """Print a line for each team; with `wide` all resources that have a quota."""
    if not found.teams:
        console.print(Prose("There is no team. `appwrapper team create NAME` makes one."))
    else:
        console.print(_teams_table(found, wide=wide))
    _print_notes(
        [f"{each.team}: {text}" for each in found.teams for text in each.warnings]
        + [f"not shown: {each}" for each in found.unread],
        console,
    )


def print_team(found: TeamReport, console: Console) -> None:
    console.print(_facts(found))
    if found.quotas:
        console.print()
        console.print(_quota_table(found.quotas))
    if found.local_queues:
        console.print()
        table = _table("LOCALQUEUE", "FEEDS", "STOPPED", ">ADMITTED", ">PENDING")
        for each in found.local_queues:
            stopped = "no" if each.stop_policy == "None" else each.stop_policy
            counts = (str(each.admitted), str(each.pending))
            table.add_row(each.name, each.cluster_queue, stopped, *counts)
        console.print(table)
    if found.users:
        console.print()
        table = _table("USER OR GROUP", "ROLE", "BOUND BY")
        for member in found.users:
            table.add_row(member.subject, member.role, member.binding)
        console.print(table)
    notes = [*found.warnings, *(f"not shown: {each}" for each in found.unread)]
    _print_notes(notes, console)


def print_removal(found: Removal, console: Console) -> None:
    """Print the objects to delete, or the workloads that keep them."""
    if found.blockers:
        console.print(f"Team {found.team} has workloads that run or wait:")
        for each in found.blockers:
            console.print(f"  {each}")
        return
    console.print("To be deleted, in this order:")
    for target in found.targets:
        console.print(f"  {target.kind} {target.name}")
        if target.kind == "Namespace":
            for line in _in_the_namespace(found):
                console.print(f"    {line}")
    for each in found.kept:
        console.print(each)


def _in_the_namespace(found: Removal) -> Iterator[str]:
    yield "with everything in it"
    if found.ended_app_wrappers:
        yield f"AppWrappers that have ended: {found.ended_app_wrappers}"
    if found.pods:
        yield f"pods that run without a device: {found.pods}"
    for claim in found.claims:
        of = f" of storage class {claim.storage_class}" if claim.storage_class else ""
        yield f"DATA in PersistentVolumeClaim {claim.name}: {claim.capacity}{of}"


def _headline(plan: TeamPlan) -> str:
    if plan.refused:
        return f"Team {plan.team} is refused. Nothing was changed."
    if plan.dry_run:
        return f"Team {plan.team}: a dry run, nothing was changed."
    if plan.differs:
        what = "was changed, but still" if plan.changes_anything else "was not changed, and"
        return f"Team {plan.team} {what} differs from what was asked for."
    if not plan.changes_anything:
        return f"Team {plan.team}: nothing to change."
    is_new = all(each.action is Action.CREATE for each in plan.objects)
    return f"Team {plan.team} was {'created' if is_new else 'changed'}."


def _changes(plan: TeamPlan) -> Table:
    words = _PLANNED if plan.dry_run or plan.refused else _DONE
    table = _table("OBJECT", "WHAT HAPPENS", "DETAIL")
    for each in plan.objects:
        status = Text(words[each.action], style=_COLOURS[each.action])
        table.add_row(f"{each.kind} {each.name}", status, "\n".join(_details(each)))
    return table


def _details(each: ObjectPlan) -> Iterator[str]:
    if each.action is Action.CREATE:
        yield from _created(each)
    for change in each.changes:
        before = "" if change.found == "none" else f" (was {change.found})"
        yield f"{change.field}: {change.wanted}{before}"
    for left in each.left:
        remedy = f": {left.remedy}" if left.remedy and not _is_long(left) else ""
        yield f"differs: {left.field} is {left.found}, not {left.wanted}{remedy}"


def _is_long(left: Difference) -> bool:
    """True if the remedy has a command, which a cell of a table would fold."""
    return "kubectl" in (left.remedy or "")


def _created(each: ObjectPlan) -> Iterator[str]:
    manifest = each.manifest
    match each.kind:
        case "Namespace":
            yield ", ".join(f"{k}={v}" for k, v in manifest["metadata"]["labels"].items())
        case "ClusterQueue":
            quotas = ((resource, item) for (_, resource), item in written_quotas(manifest))
            yield ", ".join(f"{resource} {item['nominalQuota']}" for resource, item in quotas)
        case "LocalQueue":
            yield f"feeds {manifest['spec']['clusterQueue']}"
        case _:
            who = ", ".join(described_subject(one) for one in manifest["subjects"])
            yield f"{manifest['roleRef']['name']} for {who}"


def _sums(rows: Sequence[CapacityRow]) -> Table:
    closed = any(row.unschedulable for row in rows)
    more = (">UNSCHEDULABLE",) if closed else ()
    table = _table("RESOURCE", *more, ">SCHEDULABLE", ">QUOTAS BEFORE", ">QUOTAS AFTER", ">LEFT")
    for row in rows:
        left = None if row.schedulable is None else row.schedulable - row.quotas_after
        values = [row.schedulable, row.quotas_before, row.quotas_after, left]
        if closed:
            values.insert(0, row.unschedulable)
        cells = [_amount(row.resource, value) for value in values]
        table.add_row(row.resource, *cells, style="red" if row.is_exceeded else "")
    return table


def _teams_table(found: TeamList, *, wide: bool) -> Table:
    everything = dict.fromkeys(
        quota.resource for each in found.teams for quota in each.quotas or ()
    )
    resources = [each for each in everything if wide or each in found.resources]
    columns = [f">{each} USED/QUOTA" for each in resources]
    table = _table("TEAM", "CLUSTERQUEUE", *columns, ">ADMITTED", ">PENDING", "USERS")
    for each in found.teams:
        quota = added_up({one.resource: one.nominal} for one in each.quotas or ())
        used = added_up({one.resource: one.used} for one in each.quotas or ())
        cells = [
            f"{amount_text(used[name], name)}/{amount_text(quota[name], name)}"
            if name in quota
            else "-"
            for name in resources
        ]
        queues = each.local_queues or ()
        counts = [str(sum(one.admitted for one in queues)), str(sum(one.pending for one in queues))]
        if each.local_queues is None:
            counts = [_UNKNOWN, _UNKNOWN]
        table.add_row(each.team, each.cluster_queue or "none", *cells, *counts, _users(each))
    return table


def _users(found: TeamReport) -> str:
    if found.users is None:
        return _UNKNOWN
    return ", ".join(dict.fromkeys(each.subject for each in found.users)) or "none"


def _facts(found: TeamReport) -> Table:
    table = Table.grid(padding=(0, 2))
    labelled = {True: "labelled as a team's", False: "without the label of teams", None: _UNKNOWN}
    facts = [
        ("Team", found.team),
        ("Namespace", labelled[found.labelled]),
        ("ClusterQueue", found.cluster_queue or "none"),
        ("Cohort", found.cohort or "none"),
        ("AppWrappers", _counts(found)),
    ]
    for name, value in facts:
        table.add_row(f"{name}:", value)
    return table


def _counts(found: TeamReport) -> str:
    if found.app_wrappers is None:
        return _UNKNOWN
    return ", ".join(f"{count} {phase}" for phase, count in found.app_wrappers.items()) or "none"


def _quota_table(quotas: Sequence[Quota]) -> Table:
    limits = any(
        each.borrowing_limit is not None or each.lending_limit is not None for each in quotas
    )
    more = (">MAY BORROW", ">MAY LEND") if limits else ()
    table = _table("FLAVOR", "RESOURCE", ">QUOTA", ">USED", ">BORROWED", *more)
    for each in quotas:
        cells = [each.nominal, each.used, each.borrowed]
        texts = [amount_text(value, each.resource) for value in cells]
        if limits:
            texts += [_limit(each.resource, each.borrowing_limit)]
            texts += [_limit(each.resource, each.lending_limit)]
        table.add_row(each.flavor, each.resource, *texts)
    return table


def _limit(resource: str, value: Decimal | None) -> str:
    return "any" if value is None else amount_text(value, resource)


def _amount(resource: str, value: Decimal | None) -> str:
    return _UNKNOWN if value is None else amount_text(value, resource)


def _print_notes(warnings: Sequence[str], console: Console) -> None:
    if warnings:
        console.print()
    for each in warnings:
        console.print(Prose(f"WARNING: {each}.", "yellow"), crop=False)
