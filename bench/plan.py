"""Plans what to measure and how often, and forecasts how long that takes. Pure."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PARTS = (
    "mutate", "validate", "large", "creation", "lifecycle", "detection", "deletion", "flapping",
    "records", "nodes",
)  # fmt: skip
# Only one contender at a time can take part in these.
_IN_TURNS = frozenset(PARTS[3:-1])

# Larger sizes are measured in the first round only.
ONCE_ABOVE = 150

# Seconds on two cores with everything built, measured once; only the forecast needs them.
_START = 20.0
_SWITCH = 2.5
_REVIEWS_PER_SECOND = 3_000
_ACCESS_REVIEWS_PER_SECOND = 800
# One review of 0.9 MiB, of both contenders.
_LARGE = 0.1
# One AppWrapper created and deleted, three contenders added, queues included.
_CREATE = 0.25
_SINGLE_LIVES = 24.0
# One AppWrapper among many, from creation to deletion, three contenders added.
_LIFE = 0.37
# Per round, whatever the number of faults; per fault; and the Go operator's minute.
_DETECTION = 8.0
_DETECTIONS = 0.7
_PEER_DETECTION = 80.0
# Deletions one after the other: in each round for our operator, once for the Go operator. Then one
# deletion among many, both contenders added. Creation included.
_SINGLE_DELETIONS = 5.0
_PEER_SINGLE_DELETIONS = 20.0
_DELETION = 0.5
# The seconds before and after the watched ones.
_FLAPPING = 5.0
# One worker of many from creation to deletion, and the Go operator's minute.
_RECORD = 0.08
_PEER_RECORDS = 90.0
# One node from creation to deletion; the Go operator's minute; and the rates of both.
_NODE = 0.015
_PEER_LABELS = 80.0
_WINDOWS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """`rounds` of each part, contenders taking turns.

    `requests` admission reviews go to each webhook per round and number of connections, `reviews`
    of 0.9 MiB each per round and path. `creates` AppWrappers are created through the API server
    per round, 16 at once. `sizes` are the numbers of AppWrappers whose lives
    are measured together; the largest of them are also deleted together while they run.
    `detections` of each fault are measured per round. A flapping pod is watched for
    `flapping_seconds`. `workers` of one AppWrapper leave a record each. `nodes` make a large
    cluster, whose heartbeats are watched for `heartbeat_seconds` at each rate.
    """

    parts: frozenset[str] = frozenset(PARTS)
    rounds: int = 2
    requests: int = 3_000
    reviews: int = 40
    creates: int = 48
    sizes: tuple[int, ...] = (1, 100, 300)
    detections: int = 12
    flapping_seconds: int = 60
    workers: int = 1_000
    nodes: int = 2_000
    heartbeat_seconds: int = 20

    @property
    def seconds(self) -> float:
        """Estimates how long a run takes on two cores, once everything is built."""
        total = _START
        direct = self.rounds * 4 * self.requests / _REVIEWS_PER_SECOND
        if "mutate" in self.parts:
            total += direct + _SWITCH
        if "validate" in self.parts:
            asking = self.rounds * 4 * self.requests / _ACCESS_REVIEWS_PER_SECOND
            total += direct + asking + 2 * _SWITCH
        if "large" in self.parts:
            total += self.rounds * 2 * self.reviews * _LARGE + _SWITCH
        if "nodes" in self.parts:
            total += self.nodes * _NODE + self.detections * _DETECTIONS + _PEER_LABELS
            total += _WINDOWS * self.heartbeat_seconds + 2 * _SWITCH
        return total + self._seconds_in_turns

    @property
    def _seconds_in_turns(self) -> float:
        total = 0.0
        if self.parts & _IN_TURNS:
            total += self.rounds * 3 * _SWITCH
        if "creation" in self.parts:
            total += self.rounds * self.creates * _CREATE
        if "lifecycle" in self.parts:
            total += self.rounds * _SINGLE_LIVES
            many = (size for size in self.sizes if size > 1)
            total += sum(size * rounds_with(self, size) for size in many) * _LIFE
        if "detection" in self.parts:
            total += self.rounds * (_DETECTION + self.detections * _DETECTIONS) + _PEER_DETECTION
        if "deletion" in self.parts:
            total += self.rounds * _SINGLE_DELETIONS + _PEER_SINGLE_DELETIONS
            total += max(self.sizes) * _DELETION
        if "flapping" in self.parts:
            total += self.flapping_seconds + _FLAPPING
        if "records" in self.parts:
            total += 3 * self.workers * _RECORD + _PEER_RECORDS
        return total


# Enough to see whether a change is slower: all that passes through both programs, no faults.
QUICK: Final = Plan(
    parts=frozenset({"mutate", "validate", "creation", "lifecycle"}),
    requests=1_000,
    creates=24,
    sizes=(1, 50),
)


def rounds_with(plan: Plan, size: int) -> int:
    """Returns how many rounds, from the first on, run that many lives at once."""
    return 1 if size > ONCE_ABOVE else plan.rounds


@dataclass(frozen=True, slots=True)
class Output:
    """The destinations of the results besides the terminal. `json` is a file, `-` standard
    output.
    """

    json: str | None = None
    markdown: bool = False


def parse(arguments: Sequence[str] | None = None) -> tuple[Plan, Output]:
    """Parses the command line; exits with 2 and a sentence for wrong usage."""
    given = sys.argv[1:] if arguments is None else arguments
    parsed = _parser(QUICK if "--quick" in given else Plan()).parse_args(given)
    plan = Plan(
        parts=parsed.only,
        rounds=parsed.rounds,
        requests=parsed.requests,
        reviews=parsed.reviews,
        creates=parsed.creates,
        sizes=parsed.sizes,
        detections=parsed.detections,
        flapping_seconds=parsed.flapping_seconds,
        workers=parsed.workers,
        nodes=parsed.nodes,
        heartbeat_seconds=parsed.heartbeat_seconds,
    )
    return plan, Output(json=parsed.json, markdown=parsed.markdown)


def _parser(default: Plan) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures this project's operator beside the Go operator, on one real control"
        " plane in one run. It reports; it asserts nothing.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"the parts {', '.join(each for each in PARTS if each in QUICK.parts)} with smaller "
        "numbers, in about three minutes; other options change what they name",
    )
    parser.add_argument(
        "--only",
        type=_parts,
        default=default.parts,
        metavar="PART,…",
        help=f"parts to run, of {', '.join(PARTS)} (all, save with --quick)",
    )
    counts = (
        ("rounds", "rounds of each part, contenders taking turns"),
        ("requests", "admission reviews per webhook, round and number of connections"),
        ("reviews", "reviews of 0.9 MiB per webhook, round and path"),
        ("creates", "AppWrappers created through the API server per round, 16 at once"),
        ("detections", "faults of each kind per round; of the Go operator always 3"),
        ("flapping-seconds", "how long a flapping pod is watched; the design's number is 300"),
        ("workers", "workers of one AppWrapper that all fail and leave a record"),
        ("nodes", "nodes of a large cluster; they are simulated, and nothing runs on them"),
        ("heartbeat-seconds", "how long those nodes' heartbeats are watched, at each rate"),
    )
    for name, meaning in counts:
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
    parser.add_argument(
        "--markdown", action="store_true", help="print Markdown instead of tables for a terminal"
    )
    return parser  # fmt: skip


def _parts(text: str) -> frozenset[str]:
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    unknown = sorted(names - frozenset(PARTS))
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"there is no part {', '.join(unknown) or repr(text)}; there are {', '.join(PARTS)}"
        )
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_positive(each.strip()) for each in text.split(","))
