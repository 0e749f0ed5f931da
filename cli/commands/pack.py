"""`appwrapper pack`: wraps manifests into one AppWrapper."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.command import ExitCode
from cli.options import add_manifest_output, add_several, add_webhook_configuration
from cli.terminal import CommandTerminal

if TYPE_CHECKING:
    from cli.packing.assembling import Packed
    from cli.packing.wrapping import Wrapping

DESCRIPTION = """\
Wraps manifests into one AppWrapper, so that Kueue queues them as one and the controller retries
them as one:

  appwrapper pack job.yaml service.yaml | kubectl apply -f -
  appwrapper pack training/ --name run-7 --queue urgent -O aw.yaml

It needs no cluster. It refuses what the webhook would refuse, with file and line. It keeps comments
and the way values are written.
"""

# By annotation: the placeholder and the help of its option; an option without a placeholder means
# "true". docs/users/annotations.md has the
# defaults and limits, which the cluster's configuration sets.
_FAULT_TOLERANCE: Final = {
    "admissionGracePeriodDuration": ("TIME", "for the expected pods to exist"),
    "warmupGracePeriodDuration": ("TIME", "for the expected pods to run"),
    "failureGracePeriodDuration": ("TIME", "for a failure to heal by itself"),
    "unreachableGracePeriodDuration": ("TIME", "for an unreachable node to answer; 0s: no limit"),
    "failUnschedulableDuration": (
        "TIME",
        "after which it fails if no node can hold a pod; 0s: never",
    ),
    "retryPausePeriodDuration": ("TIME", "between the removal of everything and its next creation"),
    "deletionOnFailureGracePeriodDuration": (
        "TIME",
        "between Failed and the removal of what failed",
    ),
    "forcefulDeletionGracePeriodDuration": ("TIME", "before pods are deleted by force"),
    "successTTLDuration": ("TIME", "that a success is kept"),
    "retryLimit": ("N", "resets before it fails"),
    "terminalExitCodes": ("CODES", "exit codes that fail it at once, such as 3,42"),
    "retryableExitCodes": ("CODES", "the only exit codes that may be retried"),
    "errorAggregation": ("STRATEGY", "how the root cause is found: earliest, default or off"),
    "errorStore": ("STORE", "a store of the operator's configuration for the errors of its pods"),
    "recorder": ("", "start the recorder in its pods, which explains failures"),
}
_WORD: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def fault_tolerance_options() -> dict[str, str]:
    """Return the name of each annotation with its option: `--retry-limit` for `retryLimit`."""
    words = {name: _WORD.findall(name.removesuffix("Duration")) for name in _FAULT_TOLERANCE}
    return {name: f"--{'-'.join(found)}".lower() for name, found in words.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="a file, a folder (all *.yaml, *.yml and *.json in it and below, by name), or - for"
        " standard input (the default); YAML or JSON, with many objects and Lists",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="default: what the objects name; -n of MLBatch's awpack.py is --name here",
    )
    add_wrapping(parser)
    parser.add_argument(
        "-O",
        "--out",
        metavar="FILE",
        help="the file to write, atomically; default: -, standard output",
    )
    add_manifest_output(parser)


def add_wrapping(parser: argparse.ArgumentParser) -> None:
    """Add the options for the AppWrapper, which `wrapping_of` reads."""
    parser.add_argument(
        "--name", metavar="NAME", default="", help="default: that of the first object with pods"
    )
    parser.add_argument(
        "--queue",
        metavar="NAME",
        default="",
        help="the LocalQueue; default: what the objects name, else the cluster's default",
    )
    for of in ("labels", "annotations"):
        option, about = f"--{of.removesuffix('s')}", f"one of the AppWrapper's {of}"
        add_several(parser, option, dest=of, metavar="KEY=VALUE", about=about)
    add_several(
        parser,
        "--podset",
        dest="pod_sets",
        metavar="[KIND/NAME:]PATH=REPLICAS",
        about="pods of a Kind that the operator does not know, such as template.spec.template=4;"
        " KIND/NAME:none if it makes no pods",
    )
    add_several(
        parser,
        "--helper",
        dest="helpers",
        metavar="[KIND/]NAME",
        about="an object that serves the others and is deleted after they succeed, such as a"
        " TensorBoard",
    )
    add_webhook_configuration(parser)
    group = parser.add_argument_group(
        "fault tolerance", "The cluster's configuration sets the defaults and limits."
    )
    for name, option in fault_tolerance_options().items():
        metavar, about = _FAULT_TOLERANCE[name]
        if metavar:
            group.add_argument(option, dest=name, metavar=metavar, help=about)
        else:
            group.add_argument(
                option, dest=name, action="store_const", const="true", default=None, help=about
            )


def wrapping_of(arguments: argparse.Namespace) -> "Wrapping":
    """Return the options for the AppWrapper. Raises CommandError."""
    from cli.packing.wrapping import wrapping
    from shared.api.names import ANNOTATION_PREFIX

    given = vars(arguments)
    options = ("name", "namespace", "queue", "labels", "annotations", "pod_sets", "helpers")
    fault_tolerance = {
        ANNOTATION_PREFIX + name: (option, given[name])
        for name, option in fault_tolerance_options().items()
        if given[name] is not None
    }
    known = {each: given[each] or "" if each == "namespace" else given[each] for each in options}
    return wrapping(**known, fault_tolerance=fault_tolerance)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from cli.manifests.reading import read_all
    from cli.packing.writing import refuse_inputs, write_whole

    asked = wrapping_of(arguments)
    found = read_all(arguments.files, terminal.stdin)
    out = Path(arguments.out) if arguments.out not in (None, "", "-") else None
    if out is not None:
        refuse_inputs(out, found.files)

    from cli.packing.assembling import assemble
    from cli.validation.offline import configuration

    allowed = configuration(arguments.config).allowed_kinds
    packed = assemble(found.manifests, asked, allowed)
    if _is_refused(packed, arguments.config, terminal):
        return ExitCode.WANTING
    text = _text(packed, arguments.output, terminal)
    if out is None:
        terminal.write(text)
    else:
        write_whole(out, text)
    return ExitCode.FINE


def _is_refused(packed: "Packed", config: str, terminal: CommandTerminal) -> bool:
    from cli.validation.offline import judgement
    from cli.validation.report import findings

    whole = packed.as_json()
    found = judgement(whole, packed.metadata.get("namespace", ""), config)
    errors = found.denied.reasons if found.denied else ()
    for each in findings(errors, found.warnings, whole, packed.locate):
        terminal.stderr.write(f"{each}\n")
    return found.denied is not None


def _text(packed: "Packed", output: str, terminal: CommandTerminal) -> str:
    if output == "json":
        from cli.reports import to_text

        return to_text(packed.as_json(), "json")
    from cli.packing.rendering import render

    text, losing = render(packed)
    for each in losing:
        terminal.warn(
            f"{each.located()}: {each} loses its comments: it uses anchors that are defined"
            " elsewhere in its file"
        )
    return text
