"""Runs `python -m localcluster up | down | status | build`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from localcluster import commands, supervisor
from localcluster.access.options import ClusterOptions
from localcluster.installers import ON_REQUEST
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.folder import default_folder
from localcluster.machine.interrupts import Interrupted
from localcluster.programs.catalogue import KUEUE_VERSIONS

# On standard error: users evaluate standard output.
_SIMULATED = (
    "This installation is a simulation: the control plane is real, {nodes}, GPUs and pods are not."
)
_VERSIONS = " (default) or ".join(KUEUE_VERSIONS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, 1 for an error on standard error, 2 for wrong usage, 130 for Ctrl-C."""
    parsed = _parser().parse_args(arguments)
    try:
        return _run(parsed)
    except LocalClusterError as failure:
        print(f"localcluster: {failure}", file=sys.stderr)
        return 1
    except (Interrupted, KeyboardInterrupt):
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130


def _run(parsed: argparse.Namespace) -> int:
    match parsed.command:
        case "up":
            options = ClusterOptions(
                parsed.components,
                parsed.nodes,
                parsed.gpus_per_node,
                parsed.dir,
                parsed.product,
                parsed.real_node,
                parsed.kueue,
            )
            kubeconfig = commands.up(options)
            nodes = "nodes except real-node" if parsed.real_node else "nodes"
            print(_SIMULATED.format(nodes=nodes), file=sys.stderr)
            print(f"export KUBECONFIG={kubeconfig}")
        case "down":
            print(commands.down(parsed.dir))
        case "build":
            commands.build(
                parsed.components,
                real_node=parsed.real_node,
                kueue=parsed.kueue,
                torch=parsed.torch,
                beside=parsed.beside,
            )
        case "supervise":
            return supervisor.main(parsed.options)
        case _:
            return _status(parsed.dir, parsed.output)
    return 0


def _status(directory: Path, output: str) -> int:
    state = commands.status(directory)
    if output == "json":
        print(orjson.dumps(state, option=orjson.OPT_INDENT_2).decode())
    else:
        print(commands.status_text(state, directory))
    return 0 if state else 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcluster", description="A real Kubernetes on this machine."
    )
    commands_ = parser.add_subparsers(dest="command", required=True)
    up = commands_.add_parser("up", help="start a cluster and leave it running")
    up.add_argument("--nodes", type=int, default=8, metavar="N", help="simulated nodes (8)")
    up.add_argument("--gpus-per-node", type=int, default=8, metavar="N", help="GPUs on each (8)")
    up.add_argument(
        "--without-product",
        dest="product",
        action="store_false",
        help="without the AppWrapper webhook and controller",
    )
    build = commands_.add_parser("build", help="only build the programs, for later starts")
    for each, what in (
        (up, "add a node whose pods are real, and run the product there from its images (root)"),
        (build, "also what a real node needs: its programs, and our images (root)"),
    ):
        each.add_argument("--real-node", action="store_true", help=what)
        each.add_argument("--kueue", metavar="VERSION", help=f"Kueue's version: {_VERSIONS}")
        each.add_argument(
            "--with",
            dest="components",
            type=_components,
            default=frozenset(),
            metavar="A,B",
            help=f"further components: {', '.join(sorted(ON_REQUEST))}; or all",
        )
    build.add_argument(
        "--torch", action="store_true", help="also the image with PyTorch that tests wrap (root)"
    )
    build.add_argument(
        "--beside",
        action="store_true",
        help="also what tests run beside a cluster: the Go operator, Prometheus and Helm",
    )
    down = commands_.add_parser("down", help="stop a cluster and remove its files")
    status = commands_.add_parser("status", help="what runs, where, and its log")
    status.add_argument("-o", "--output", choices=("table", "json"), default="table")
    for each in (up, down, status):
        each.add_argument(
            "--dir",
            type=lambda text: Path(text).absolute(),
            default=default_folder(),
            metavar="D",
            help="the cluster's folder (%(default)s)",
        )
    supervise = commands_.add_parser("supervise")
    supervise.add_argument("options")
    return parser


def _components(text: str) -> frozenset[str]:
    if text == "all":
        return frozenset(ON_REQUEST)
    return frozenset(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    sys.exit(main())
