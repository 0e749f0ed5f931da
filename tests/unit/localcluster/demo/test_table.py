"""The demo's table reads as kubectl's does."""

from datetime import UTC, datetime, timedelta

import pytest

from localcluster.demo.table import age_text, line_of, row_of, style_of

CREATED = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def test_a_new_appwrapper_has_empty_cells() -> None:
    new = {"metadata": {"name": "new", "creationTimestamp": "2026-11-21T10:00:00Z"}}
    assert row_of(new, CREATED) == ("new", "", "", "", "", "0s")


def test_a_running_appwrapper() -> None:
    running = {
        "metadata": {"name": "sample-job", "creationTimestamp": "2026-11-21T10:00:00Z"},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "QuotaReserved", "status": "True"},
                {"type": "ResourcesDeployed", "status": "True"},
                {"type": "Unhealthy", "status": "False"},
            ],
        },
    }
    row = row_of(running, CREATED + timedelta(seconds=2))
    assert row == ("sample-job", "Running", "True", "True", "False", "2s")
    assert line_of(row) == ("sample-job           Running     True   True      False      2s")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (0.9, "0s"), (119, "119s"), (120, "2m0s"), (185, "3m5s")],
)
def test_age(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("# Why does it wait?", "dim"),
        ("$ kubectl apply -f a.yaml", "bold"),
        ("ROOT CAUSE  worker-1: out of memory", "bold red"),
        ("sample-job   Running", ""),
        ("", ""),
    ],
)
def test_the_style_of_a_line(line: str, style: str) -> None:
    assert style_of(line) == style
