"""`appwrapper team`: create, list, show and delete teams."""

import argparse
from typing import TYPE_CHECKING

from cli.command import CommandError, ExitCode
from cli.confirming import typed
from cli.options import add_connection, add_output, add_several
from cli.terminal import CommandTerminal

if TYPE_CHECKING:
    from cli.cluster.connection import Cluster
    from cli.teams.manifests import TeamSettings
    from cli.teams.plan import TeamPlan
    from cli.teams.removal import Removal

DESCRIPTION = """\
Manages teams: a namespace that Kueue manages, a quota, a queue, and users.

  appwrapper team create team2 --quota nvidia.com/gpu=16 --quota cpu=160
  appwrapper team list
  appwrapper team show team2
  appwrapper team delete team2

create and delete need the rights of a cluster admin.
"""
CREATE = """\
Creates what a team lacks. A second run changes nothing and reports that.

Existing objects stay as they are, and differences are shown. Users are added where
--user or --group names new ones; --change-quota sets quotas; --adopt makes an
existing namespace a team's.
"""
DELETE = """\
Deletes a team: its namespace with everything in it, and its quota.

It is refused while AppWrappers or other workloads run or wait. Run again, it finishes what was
interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="create|list|show|delete", required=True)
    create = _subcommand(what, "create", "make a team, or what it lacks", CREATE)
    _add_create(create)
    listing = _subcommand(what, "list", "all teams with quota, usage and users")
    add_output(listing, "wide")
    show = _subcommand(what, "show", "one team, and what is wrong with it")
    show.add_argument("name", metavar="NAME", help="the team, which is its namespace")
    add_output(show)
    delete = _subcommand(what, "delete", "delete a team without workloads", DELETE)
    delete.add_argument("name", metavar="NAME", help="the team, which is its namespace")
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    delete.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    delete.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="how long to wait until the namespace is gone (default: 300)",
    )
    add_output(delete)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    import asyncio  # takes a third of the time that all of --help takes

    return asyncio.run(_run(arguments, terminal))


async def _run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from cli.cluster.connection import connected

    if arguments.what == "create":
        settings_of(arguments)  # wrong usage needs no cluster
    async with connected(arguments) as cluster:
        return await run_on(cluster, arguments, terminal)


async def run_on(
    cluster: "Cluster", arguments: argparse.Namespace, terminal: CommandTerminal
) -> ExitCode:
    run_it = {"create": _create, "list": _list, "show": _show, "delete": _delete}
    return await run_it[arguments.what](cluster, arguments, terminal)


def settings_of(arguments: argparse.Namespace) -> "TeamSettings":
    """Read the options of create. Raises CommandError."""
    from cli.pod_security import PodSecurity
    from cli.teams.manifests import TeamSettings, group, user
    from cli.teams.quotas import QuotaError, parsed_quotas

    try:
        quotas = parsed_quotas(arguments.quotas)
    except QuotaError as error:
        raise CommandError(str(error)) from error
    return TeamSettings(
        name=arguments.name,
        labels={},
        quotas=quotas,
        subjects=(*map(group, arguments.groups), *map(user, arguments.users)),
        flavor=arguments.flavor,
        cohort=arguments.cohort,
        role=arguments.role,
        pod_security=PodSecurity(arguments.pod_security) if arguments.pod_security else None,
        change_quota=arguments.change_quota,
        adopt=arguments.adopt,
    )


async def _create(
    cluster: "Cluster", arguments: argparse.Namespace, terminal: CommandTerminal
) -> ExitCode:
    from cli.teams.create import create_team

    with terminal.progress(f"Reading team {arguments.name}"):
        plan = await create_team(
            cluster,
            settings_of(arguments),
            config_file=arguments.config,
            allows_excess=arguments.over_capacity,
            dry_run=arguments.dry_run,
        )
    _print_plan(plan, arguments, terminal)
    if plan.refused:
        raise CommandError(
            f"{'; '.join(plan.refused)}. Ask for less, or give --over-capacity to promise more than"
            " there is",
            ExitCode.WANTING,
        )
    return ExitCode.WANTING if plan.differs else ExitCode.FINE


def _print_plan(plan: "TeamPlan", arguments: argparse.Namespace, terminal: CommandTerminal) -> None:
    if arguments.output == "yaml":
        from cli.manifests.writing import as_yaml

        terminal.write("---\n".join(as_yaml(each.manifest) for each in plan.objects))
        for warning in plan.warnings:
            terminal.warn(warning)
    elif arguments.output == "json":
        terminal.write_data(plan, arguments.output)
    else:
        from cli.teams.text import print_plan

        print_plan(plan, terminal.console())


async def _list(
    cluster: "Cluster", arguments: argparse.Namespace, terminal: CommandTerminal
) -> ExitCode:
    from cli.teams.inspect import list_teams
    from cli.teams.text import print_teams

    with terminal.progress("Reading all teams"):
        found = await list_teams(cluster, arguments.config)
    if arguments.output in ("text", "wide"):
        print_teams(found, terminal.console(), wide=arguments.output == "wide")
    else:
        terminal.write_data(found, arguments.output)
    return ExitCode.FINE


async def _show(
    cluster: "Cluster", arguments: argparse.Namespace, terminal: CommandTerminal
) -> ExitCode:
    from cli.teams.inspect import show_team
    from cli.teams.text import print_team

    with terminal.progress(f"Reading team {arguments.name}"):
        found = await show_team(cluster, arguments.name, arguments.config)
    if arguments.output == "text":
        print_team(found, terminal.console())
    else:
        terminal.write_data(found, arguments.output)
    return ExitCode.WANTING if found.warnings else ExitCode.FINE


async def _delete(
    cluster: "Cluster", arguments: argparse.Namespace, terminal: CommandTerminal
) -> ExitCode:
    from cli.teams.delete import delete_team
    from cli.teams.text import print_removal

    def confirm(found: "Removal") -> None:
        if arguments.output == "text":
            print_removal(found, terminal.console())
            terminal.stdout.flush()
        if not arguments.yes:
            _ask(arguments, terminal)

    found = await delete_team(
        cluster,
        arguments.name,
        confirm,
        config_file=arguments.config,
        dry_run=arguments.dry_run,
        seconds=arguments.timeout,
    )
    if arguments.output != "text":
        terminal.write_data(found, arguments.output)
    elif found.blockers or found.dry_run:
        print_removal(found, terminal.console())
    else:
        terminal.write(f"Team {found.team} was deleted.\n")
    if found.blockers:
        raise CommandError(
            f"team {found.team} was not deleted: end its workloads first, as with `kubectl delete"
            f" appwrappers --all -n {found.team}`",
            ExitCode.WANTING,
        )
    return ExitCode.FINE


def _ask(arguments: argparse.Namespace, terminal: CommandTerminal) -> None:
    """Have a person type the team's name. Raises CommandError."""
    if not terminal.stdin.isatty() or arguments.output != "text":
        raise CommandError(
            f"team {arguments.name} was not deleted: you must confirm it in a terminal, with"
            " -o text. Or add --yes to delete it without confirmation"
        )
    terminal.stderr.write(f"Type {arguments.name} to delete all this: ")
    terminal.stderr.flush()
    if typed(terminal) != arguments.name:
        raise CommandError(f"team {arguments.name} was not deleted", ExitCode.WANTING)


def _subcommand(
    what: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    parser = what.add_parser(
        name,
        help=summary,
        description=description or summary.capitalize() + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # `team` has the option too: without SUPPRESS this default would overwrite its value.
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show where an error comes from",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the operator's configuration, instead of the cluster's ConfigMap",
    )
    add_connection(parser, namespaced=False)
    return parser


def _add_create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the team, which becomes its namespace")
    group = "a group of users (default, where no --user is given: NAME-edit-group)"
    for option, dest, metavar, about in (
        ("--quota", "quotas", "RESOURCE=AMOUNT", "what the team is guaranteed"),
        ("--user", "users", "NAME", "a user of the team"),
        ("--group", "groups", "NAME", group),
    ):
        add_several(parser, option, dest=dest, metavar=metavar, about=about)
    for option, default, about in (
        ("--role", "mlbatch-edit", "the users' ClusterRole in the namespace"),
        ("--flavor", "default-flavor", "the ResourceFlavor of the quotas"),
        ("--cohort", "default-cohort", "the teams that lend each other what they do not use"),
    ):
        text = f"{about} (default: %(default)s)"
        parser.add_argument(option, default=default, metavar="NAME", help=text)
    parser.add_argument(
        "--pod-security",
        choices=("baseline", "baseline-ipc-lock", "restricted", "privileged"),
        help="Pod Security level of a new namespace (default: baseline; a quota with RDMA needs a"
        " choice). baseline-ipc-lock allows the capability IPC_LOCK too; an existing namespace"
        " keeps its level",
    )
    for option, about in (
        ("--change-quota", "set the quotas of a team that exists"),
        ("--adopt", "make a namespace that exists a team's"),
        ("--over-capacity", "allow quotas that together exceed what the nodes have"),
        ("--dry-run", "only show what would change"),
    ):
        parser.add_argument(option, action="store_true", help=about)
    add_output(parser)
