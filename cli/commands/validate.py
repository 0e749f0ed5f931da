"""`appwrapper validate`: reports the webhook's errors and warnings about manifests."""

import argparse
from typing import TYPE_CHECKING

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output, add_webhook_configuration
from cli.terminal import CommandTerminal, harmless

if TYPE_CHECKING:
    from cli.manifests.reading import ReadManifests
    from cli.validation.report import ValidationReport

DESCRIPTION = """\
Reports what the webhook would refuse or warn about, in AppWrappers and in objects that are created
without one, with file and line:

  appwrapper validate aw.yaml
  appwrapper validate manifests/ --config mlbatch -o json
  appwrapper validate aw.yaml --server

Without --server it needs no cluster: it applies the webhook's rules with the configuration of
overlay default, as in a team's namespace. The report lists what only a cluster can check.
With --server the cluster validates by a dry run, under your identity, and changes nothing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="a file, a folder, or - for standard input (the default)",
    )
    add_webhook_configuration(parser, "; with --server it is the cluster's own")
    parser.add_argument(
        "--no-team-namespace",
        dest="team_namespace",
        action="store_false",
        help="validate as in a namespace that is not a team's, which is less strict",
    )
    parser.add_argument(
        "--server", action="store_true", help="let the cluster validate, by a dry run"
    )
    add_output(parser)
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from cli.manifests.reading import read

    found = read(arguments.files, terminal.stdin)
    if not found.manifests and not found.unreadable:
        raise CommandError(
            "there is no object to validate: the input is empty, or has only comments"
        )
    if arguments.server:
        import asyncio

        report = asyncio.run(_by_server(found, arguments, terminal))
    else:
        report = _offline(found, arguments)
    if arguments.output == "text":
        terminal.write(harmless(report.as_text()))
    else:
        terminal.write_data(report, arguments.output)
    return report.exit_code


def _offline(found: "ReadManifests", arguments: argparse.Namespace) -> "ValidationReport":
    from cli.validation.offline import not_checked, rules, validated
    from cli.validation.report import validation_report

    config, is_team = arguments.config, arguments.team_namespace
    results = [
        validated(each, arguments.namespace or "", config, team_namespace=is_team)
        for each in found.manifests
    ]
    unchecked = not_checked(team_namespace=is_team) if found.manifests else ()
    return validation_report(rules(config), results, found.unreadable, unchecked)


async def _by_server(
    found: "ReadManifests", arguments: argparse.Namespace, terminal: CommandTerminal
) -> "ValidationReport":
    from cli.cluster.connection import connected
    from cli.validation.report import validation_report
    from cli.validation.server import NOT_CHECKED, validated_by_server

    warnings: list[str] = []
    untried: list[str] = []
    async with connected(arguments, warnings.append) as cluster:
        with terminal.progress("Asking the cluster"):
            results = [
                await validated_by_server(cluster, each, warnings, untried)
                for each in found.manifests
            ]
    judged_by = "the cluster, by a dry run"
    unchecked = (*dict.fromkeys(untried), *NOT_CHECKED)
    return validation_report(judged_by, results, found.unreadable, unchecked)
