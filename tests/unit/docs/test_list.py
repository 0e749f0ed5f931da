"""The page "list.md" shows the command's own table, columns and options."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

from cli.listing.text import table
from cli.main import build_parser
from tests.support.builders.explained.objects import NOW
from tests.support.builders.listed import made
from tests.support.manifests import ROOT

PAGE = (ROOT / "docs" / "users" / "list.md").read_text()
QUOTA = "insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 12 more needed"


def row(name: str, user: str, status: str, gpus: int, age: timedelta, **more: Any) -> Any:
    known = {"queue": "default-queue", "priority": 5, "created": NOW - age}
    return made(name, user=user, status=status, gpus=Decimal(gpus), **{**known, **more})


def test_the_page_shows_what_a_window_of_80_columns_shows() -> None:
    rows = [
        row("llm-pretrain", "alice", "Running", 32, timedelta(days=5)),
        row(
            "resnet-sweep",
            "bob",
            "Resetting",
            8,
            timedelta(hours=3),
            why="attempt 3 begins in 42 s; 2 of 3 retries spent",
        ),
        row(
            "llama-70b-sft",
            "alice",
            "Suspended",
            16,
            timedelta(minutes=10),
            position=1,
            why=QUOTA,
        ),
        row(
            "mnist",
            "bob",
            "Failed",
            1,
            timedelta(hours=30),
            priority=1,
            why="mnist-worker-3 r3: ValueError: bad shard",
        ),
    ]
    assert f"\n```\n{table(rows, NOW, width=80)}```\n" in PAGE


def test_the_page_has_every_option() -> None:
    parser = build_parser(["list"])
    (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
    assert isinstance(commands.choices, dict)
    options = commands.choices["list"]._actions
    known = {each for action in options for each in action.option_strings if "--" in each}
    shared = {"--help", "--debug", "--output", "--kubeconfig", "--context", "--namespace"}
    shown = set(re.findall(r"--[a-z-]+[a-z]", PAGE.split("## For users of Slurm")[0]))
    assert shown == known - shared - {"--as", "--as-group"}
    (sort,) = (each for each in options if each.dest == "sort")
    assert sort.choices is not None
    assert ", ".join(sort.choices).replace("status", "status (default)") in PAGE
