"""Options that several commands share, named as kubectl names them."""

import argparse
from collections.abc import Sequence

from cli.command import CommandError
from cli.shipped.data import OVERLAYS

OUTPUTS = ("text", "json", "yaml")


def add_connection(parser: argparse.ArgumentParser, *, namespaced: bool = True) -> None:
    """Add the options for cluster, user and namespace, which `connected` reads.

    `namespaced`: add -n. Commands about the whole cluster have no -n.
    """
    group = parser.add_argument_group("the cluster")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="instead of $KUBECONFIG and ~/.kube/config"
    )
    group.add_argument("--context", metavar="NAME", help="instead of the kubeconfig's current one")
    if namespaced:
        group.add_argument(
            "-n",
            "--namespace",
            metavar="NAME",
            help="instead of the namespace of the context",
        )
    else:
        parser.set_defaults(namespace=None)
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    add_several(
        group,
        "--as-group",
        dest="as_groups",
        metavar="GROUP",
        about="act as a member of this group, with --as",
    )


def add_several(
    parser: argparse._ActionsContainer, *options: str, dest: str, metavar: str, about: str
) -> None:
    """Add an option that may be given several times; `arguments` holds the list."""
    parser.add_argument(
        *options,
        dest=dest,
        metavar=metavar,
        action="append",
        default=[],
        help=f"{about}; may be given several times",
    )


def add_selection(parser: argparse.ArgumentParser, states: Sequence[str], about: str) -> None:
    """Add the options that select rows of a table of AppWrappers. `about`: the help of --state."""
    parser.add_argument("--me", action="store_true", help="my own only")
    parser.add_argument("--user", metavar="NAME", help="those of this user only")
    parser.add_argument(
        "--state",
        dest="states",
        metavar="STATE",
        action="append",
        default=[],
        type=str.capitalize,
        choices=states,
        help=f"{about}: {', '.join(states)}",
    )
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="of all namespaces, for admins"
    )


def check_selection(arguments: argparse.Namespace) -> None:
    """Raise CommandError if the options of `add_selection` contradict each other or -n."""
    if arguments.me and arguments.user:
        raise CommandError("--me and --user name two users: give one of them")
    if arguments.all_namespaces and arguments.namespace:
        raise CommandError("-A lists all namespaces and -n one: give one of them")


def add_pod_choice(parser: argparse.ArgumentParser) -> None:
    """Add --rank and --pod, which choose one running pod."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--rank",
        metavar="N",
        type=int,
        help="the pod of this rank (Master 0, then the workers); default: the lowest that runs",
    )
    choice.add_argument("--pod", metavar="NAME", help="the pod of this name")


def add_webhook_configuration(parser: argparse.ArgumentParser, more: str = "") -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        default=OVERLAYS[0],
        help=f"the webhook's configuration: {', '.join(OVERLAYS)} or a config.yaml"
        f" (default: {OVERLAYS[0]}{more})",
    )


def add_manifest_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="default: yaml"
    )


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add -o: text for people, json and yaml for programs, and the command's `more` formats."""
    parser.add_argument(
        "-o",
        "--output",
        choices=(*OUTPUTS, *more),
        default="text",
        help="how to print the result (default: text)",
    )
