"""`appwrapper check --config`: what both binaries say of a file, without a cluster."""

import io
from pathlib import Path

import pytest

from cli import main as program
from cli.terminal import CommandTerminal


def ran(file: Path, *options: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, err, {})
    code = program.main(["check", "--config", str(file), *options], terminal)
    return code, out.getvalue(), err.getvalue()


def test_a_file_of_the_configuration_is_checked_without_a_cluster(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("webhooksEnabled: true\n")
    done = ran(file)
    assert done[:2] == (
        0,
        f"{file}: the configuration is valid\n"
        "its periods and retries add up to 1h17m57s: if Kueue has waitForPodsReady (on by default"
        " from Kueue 0.19), timeout and recoveryTimeout must be 1h20m or longer\n",
    )
    assert done[2] == (
        f"warning: {file}:1: webhooksEnabled: ignored: the webhook is a deployment of its own:"
        " remove that instead\n"
    )


def test_all_errors_of_a_configuration_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a: 1\nappwrapper: {faultTolerance: {failUnschedulable: 25h}}\n")
    done = ran(file)
    assert done[:2] == (2, "")
    assert done[2] == (
        "error: the configuration cannot be used:\n"
        f"{file}:1: a: Forbidden: unknown key\n"
        f'{file}:2: appwrapper.faultTolerance.failUnschedulable: Invalid value: "25h": must be from'
        " 0s to gracePeriodCeiling (24h)\n"
    )
    missing = ran(tmp_path / "none.yaml")
    assert missing[0] == 2
    assert "none.yaml" in missing[2]


@pytest.mark.parametrize("option", [("-o", "json"), ("--watch",)])
def test_a_file_is_checked_once_and_printed_as_text(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("")
    error = "error: --config prints text, once: leave out --watch and -o\n"
    assert ran(file, *option) == (2, "", error)
