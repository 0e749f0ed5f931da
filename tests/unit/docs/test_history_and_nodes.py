"""The pages "history.md" and "nodes.md" show the commands' own tables, columns and options."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from cli.accounting.rows import EndedAppWrapper, totals
from cli.accounting.text import table, totals_table
from cli.main import build_parser
from shared.waits.gpus import gpu_hours
from tests.support.builders.explained.objects import NOW
from tests.support.manifests import ROOT

PAGES = ROOT / "docs" / "users"
HISTORY = (PAGES / "history.md").read_text()


def row(name: str, user: str, phase: str, ended: datetime, seconds: int, **more: Any) -> Any:
    known: dict[str, Any] = {
        "namespace": "team1",
        "uid": "u",
        "reason": phase,
        "queue": "default-queue",
        "created": NOW,
        "attempts": 1,
        "retries": 0,
        "gpus": Decimal(16),
        "why": "",
    }
    fields = {**known, **more}
    hours = gpu_hours(fields["gpus"], timedelta(seconds=seconds))
    return EndedAppWrapper(
        name=name,
        user=user,
        phase=phase,
        ended=ended,
        quota_seconds=seconds,
        gpu_hours=hours,
        **fields,
    )


ROWS = [
    row("resnet-sweep", "bob", "Failed", NOW.replace(minute=2), 2975, attempts=4),
    row("bert-large", "alice", "Succeeded", NOW.replace(hour=13, minute=58), 3900),
    row("mnist", "bob", "Succeeded", NOW.replace(day=1, hour=9, minute=12), 240, gpus=Decimal(1)),
]


def test_the_page_shows_what_a_window_of_80_columns_shows() -> None:
    assert f"\n```\n{table(ROWS, width=80)}```\n" in HISTORY
    assert f"\n```\n{totals_table(totals(ROWS, 'user'), 'user', 80)}```\n" in HISTORY


@pytest.mark.parametrize("command", ["history", "nodes"])
def test_the_page_has_every_option(command: str) -> None:
    page = (PAGES / f"{command}.md").read_text()
    parser = build_parser([command])
    (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
    assert isinstance(commands.choices, dict)
    options = commands.choices[command]._actions
    known = {each for action in options for each in action.option_strings if "--" in each}
    shared = {"--help", "--debug", "--output", "--kubeconfig", "--context", "--namespace"}
    shown = set(re.findall(r"--[a-z-]+[a-z]", page.split("## For users of Slurm")[0]))
    assert shown - {"--mine"} == known - shared - {"--as", "--as-group"}
    for sort in (each for each in options if each.dest == "sort"):
        assert sort.choices is not None
        named = ", ".join(sort.choices).replace("ended", "ended (default, the latest first)")
        assert named in page
