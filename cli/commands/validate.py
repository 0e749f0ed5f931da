"""`appwrapper validate`: reports the webhook's errors and warnings about manifests."""

import argparse
from typing import TYPE_CHECKING

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output, add_webhook_configuration
from cli.shipped.data import OVERLAYS
from cli.terminal import CommandTerminal, harmless

if TYPE_CHECKING:
    from cli.manifests.reading import ReadManifests
    from cli.validation.report import ManifestFinding, ValidatedObject, ValidationReport

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
    """Add the options for the input, the rules and the output."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="a file, a folder, or - for standard input (the default)",
    )
    add_webhook_configuration(parser, OVERLAYS, "; with --server it is the cluster's own")
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
    """Read the manifests, validate them and print the report."""
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
    from cli.validation.offline import OfflineJudge
    from cli.validation.unchecked import not_checked

    judge = OfflineJudge(arguments.config, arguments.namespace or "", arguments.team_namespace)
    results = [judge.judged(each) for each in found.manifests]
    return _report(found, judge.rules, results, not_checked(found.manifests, judge))


async def _by_server(
    found: "ReadManifests", arguments: argparse.Namespace, terminal: CommandTerminal
) -> "ValidationReport":
    from cli.cluster.connection import connected
    from cli.validation.server import NOT_CHECKED, ServerJudge

    warnings: list[str] = []
    async with connected(arguments, warnings.append) as cluster:
        judge = ServerJudge(cluster, warnings)
        with terminal.progress("Asking the cluster"):
            results = [await judge.judged(each) for each in found.manifests]
    return _report(found, "the cluster, by a dry run", results, NOT_CHECKED)


def _report(
    found: "ReadManifests",
    judged_by: str,
    results: "list[tuple[ValidatedObject, list[ManifestFinding]]]",
    not_checked: tuple[str, ...],
) -> "ValidationReport":
    from cli.validation.report import ValidationReport, finding_at

    broken = [
        finding_at(each.source, each.error.place, str(each.error)) for each in found.unreadable
    ]
    return ValidationReport(
        judged_by,
        tuple(judged for judged, _ in results),
        (*broken, *(each for _, findings in results for each in findings)),
        not_checked,
        tuple(each.source for each in found.unreadable),
    )
