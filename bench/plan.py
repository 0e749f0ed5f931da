"""Plans what to measure and how often. Pure."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

PARTS = (
    "mutate", "validate", "large", "creation", "lifecycle", "detection", "deletion", "flapping",
    "records", "nodes",
)  # fmt: skip
# These take longer, and no other part needs them.
SCALE_PARTS = ("hostile", "crowd", "stored")


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """`rounds` of each part, contenders taking turns.

    `requests` admission reviews go to each webhook per round and number of connections, `reviews`
    of 0.9 MiB each per round and path. `creates` AppWrappers are created through the API server
    per round, 16 at once. `sizes` are the numbers of AppWrappers whose lives
    are measured together; the largest of them are also deleted together while they run.
    `detections` of each fault are measured per round. A flapping pod is watched for
    `flapping_seconds`. `workers` of one AppWrapper leave a record each. `nodes` make a large
    cluster, whose heartbeats are watched for `heartbeat_seconds` at each rate. `failures` fail at
    once while `hanging` deletions hang. A controller beside stored AppWrappers idles for
    `idle_seconds`. `profile`: instead of all parts, profile one life and the largest of `sizes` at
    once, and `requests` reviews.
    """

    parts: frozenset[str] = frozenset(PARTS)
    rounds: int = 2
    requests: int = 3_000
    reviews: int = 40
    creates: int = 48
    sizes: tuple[int, ...] = (1, 100, 200, 300)
    detections: int = 12
    flapping_seconds: int = 60
    workers: int = 1_000
    nodes: int = 2_000
    heartbeat_seconds: int = 20
    failures: int = 500
    hanging: int = 300
    idle_seconds: int = 660
    profile: bool = False


# Enough to see whether a change is slower: all that passes through both programs, no faults.
QUICK: Final = BenchPlan(
    parts=frozenset({"mutate", "validate", "creation", "lifecycle"}),
    requests=1_000,
    creates=24,
    sizes=(1, 50),
)

SCALE: Final = BenchPlan(parts=frozenset(SCALE_PARTS), sizes=(2_000, 5_000), detections=60)

_COUNTS: Final = (
    ("rounds", "rounds of each part, contenders taking turns"),
    ("requests", "admission reviews per webhook, round and number of connections"),
    ("reviews", "reviews of 0.9 MiB per webhook, round and path"),
    ("creates", "AppWrappers created through the API server per round, 16 at once"),
    ("detections", "faults of each kind per round; of the Go operator always 3"),
    ("flapping-seconds", "how long a flapping pod is watched; the design's number is 300"),
    ("workers", "workers of one AppWrapper that all fail and leave a record"),
    ("nodes", "nodes of a large cluster; they are simulated, and nothing runs on them"),
    ("heartbeat-seconds", "how long those nodes' heartbeats are watched, at each rate"),
    ("failures", "AppWrappers that fail at once"),
    ("hanging", "deletions that hang meanwhile"),
    ("idle-seconds", "how long a controller idles beside stored AppWrappers"),
)


def parse(given: Sequence[str]) -> tuple[BenchPlan, str | None]:
    """Parses the command line; exits with 2 and a sentence for wrong usage.

    Returns the plan, and the file for the figures as JSON; `-` is standard output.
    """
    presets = {"--quick": QUICK, "--scale": SCALE}
    default = next((plan for flag, plan in presets.items() if flag in given), BenchPlan())
    parsed = _parser(default).parse_args(given)
    plan = BenchPlan(**{each.name: getattr(parsed, each.name) for each in fields(BenchPlan)})
    return plan, parsed.json


def _parser(default: BenchPlan) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures this project's operator beside the Go operator, on one real control"
        " plane in one run. It reports; it asserts nothing.",
    )
    preset = parser.add_mutually_exclusive_group()
    preset.add_argument(
        "--scale",
        action="store_true",
        help=f"the parts {', '.join(SCALE_PARTS)}: thousands of stored AppWrappers, hundreds of"
        " failures, hostile clients, in about 30 minutes; other options change what they name",
    )
    preset.add_argument(
        "--quick",
        action="store_true",
        help=f"the parts {', '.join(each for each in PARTS if each in QUICK.parts)} with smaller "
        "numbers, in about three minutes; other options change what they name",
    )
    work = parser.add_mutually_exclusive_group()
    work.add_argument(
        "--profile",
        action="store_true",
        help="no parts, but what one life and the largest of --sizes at once cost: requests, watch "
        "events, CPU by function and by kind of request, writes; it needs the right to trace",
    )
    work.add_argument(
        "--only",
        dest="parts",
        type=_parts,
        default=default.parts,
        metavar="PART,…",
        help=f"parts to run, of {', '.join(PARTS)} (all, save with --quick), and of"
        f" {', '.join(SCALE_PARTS)}",
    )
    for name, meaning in _COUNTS:
        value = getattr(default, name.replace("-", "_"))
        parser.add_argument(
            f"--{name}", type=_positive, default=value, metavar="N", help=f"{meaning} ({value})"
        )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=default.sizes,
        metavar="N,…",
        help="numbers of AppWrappers whose lives are measured together"
        f" ({','.join(map(str, default.sizes))})",
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures there too (- for stdout)")
    return parser  # fmt: skip


def _parts(text: str) -> frozenset[str]:
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    known = (*PARTS, *SCALE_PARTS)
    unknown = sorted(names - frozenset(known))
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"there is no part {', '.join(unknown) or repr(text)}; there are {', '.join(known)}"
        )
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_positive(each.strip()) for each in text.split(","))
