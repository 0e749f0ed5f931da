"""`appwrapper generate`: a PyTorchJob or TrainJob in an AppWrapper, from a values file."""

import argparse
import json

from cli.command import CommandError, ExitCode
from cli.options import add_manifest_output, add_several
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Writes an AppWrapper around a PyTorchJob, from the values files of the MLBatch chart
pytorchjob-generator. Nothing is sent to a cluster:

  appwrapper generate -f values.yaml | kubectl create -f -

Several files are merged as Helm does: later ones win, and mappings are merged key by key.
--set wins over files: --set numPods=4,volumes[0].claimName=data

--kind trainjob makes a TrainJob of Kubeflow Trainer from the same values.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_several(
        parser,
        "-f",
        "--values",
        dest="files",
        metavar="FILE",
        about="a values file, - for standard input",
    )
    about = {"--set": "set a value, in Helm's syntax", "--set-string": "the same, always as a text"}
    for option, text in about.items():
        add_several(parser, option, dest=option, metavar="KEY=VALUE", about=text)
    parser.add_argument(
        "--kind",
        choices=("pytorchjob", "trainjob"),
        default="pytorchjob",
        help="what to wrap: a PyTorchJob (the default), or a TrainJob of Kubeflow Trainer",
    )
    add_manifest_output(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--example", action="store_true", help="print a values file with every key, and exit"
    )
    shown.add_argument(
        "--schema", action="store_true", help="print the JSON schema of values, and exit"
    )


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Print the AppWrapper, the example or the schema."""
    if arguments.example or arguments.schema:
        from cli.generation import describe

        schema = json.dumps(describe.json_schema(), indent=2, ensure_ascii=False) + "\n"
        terminal.write(describe.example() if arguments.example else schema)
        return ExitCode.FINE
    from cli.generation import generator
    from cli.generation.parsed_values import UnreadableValues
    from cli.manifests.reading import read_text
    from cli.reports import to_text

    files = [read_text(name, terminal.stdin) for name in arguments.files]
    given = vars(arguments)
    assignments = [(each, text) for each in ("--set", "--set-string") for text in given[each]]
    try:
        trainer = arguments.kind == "trainjob"
        made = generator.generate(files, assignments, trainer=trainer)
    except UnreadableValues as error:
        raise CommandError(str(error)) from error
    except generator.RefusedValues as error:
        raise CommandError(_listed(error.problems), ExitCode.WANTING) from error
    for warning in made.warnings:
        terminal.warn(warning)
    terminal.write(to_text(made.appwrapper, arguments.output))
    return ExitCode.FINE


def _listed(problems: tuple[str, ...]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n  ".join([f"the values have {len(problems)} errors:", *problems])
