"""Runs `make images`: builds both images, prints their sizes, tags and pushes them."""

import argparse
import sys
from collections.abc import Sequence

from localcluster.images.delivery import ImageOrder, deliver
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.interrupts import Interrupted, interruptible
from localcluster.machine.progress import reporter_for


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, 1 for an error on standard error, 2 for wrong usage, 130 for Ctrl-C."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.push and not parsed.registry:
        parser.error("--push has no destination: give --registry HOST/PATH, too (make: REGISTRY=)")
    if parsed.registry and not parsed.push:
        parser.error("--registry pushes the images there: give --push, too (make: PUSH=1)")
    order = ImageOrder(
        tool=parsed.tool,
        base_image=parsed.base_image,
        registry=parsed.registry.rstrip("/"),
        verify_tls=not parsed.no_tls_verify,
    )
    try:
        print(interruptible(deliver(order, reporter_for())))
    except LocalClusterError as failure:
        print(f"images: {failure}", file=sys.stderr)
        return 1
    except (Interrupted, KeyboardInterrupt):
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcluster.images",
        description="Builds the images of the webhook and of the controller.",
    )
    parser.add_argument(
        "--tool",
        choices=("buildah", "docker", "podman"),
        help="what builds them; without it docker or podman where one works, else buildah",
    )
    parser.add_argument(
        "--base-image",
        metavar="NAME",
        help="an image with Python 3.11 or newer on glibc. Without it docker and podman pull the"
        " one that the Dockerfiles name, and buildah makes one of this machine's packages",
    )
    parser.add_argument(
        "--registry", default="", metavar="HOST/PATH", help="push the images there, with --push"
    )
    parser.add_argument("--push", action="store_true", help="send them to --registry")
    parser.add_argument(
        "--no-tls-verify",
        action="store_true",
        help="the registry speaks plain HTTP, or its certificate is not to be checked",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
