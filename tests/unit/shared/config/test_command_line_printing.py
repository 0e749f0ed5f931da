import argparse
from pathlib import Path

import pytest

from shared.config.command_line import (
    add_config_flags,
    changed_values,
    config_from_flags,
    print_config,
)
from shared.config.configuration import Configuration
from shared.config.loading import LoadedConfig, parse_config

GOLDEN = Path(__file__).parents[3] / "golden" / "configuration.yaml"


def flags(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    return parser.parse_args(arguments)


def test_the_defaults_are_those_of_the_golden_file() -> None:
    """A default that changes is an upgrade that changes behaviour: say so in the change log."""
    assert print_config(LoadedConfig(Configuration())) == GOLDEN.read_text(encoding="utf-8")


def test_the_printed_configuration_is_the_same() -> None:
    loaded = parse_config("appwrapper: {defaultQueueName: q, faultTolerance: {resetPause: 2m}}")
    assert parse_config(print_config(loaded)).config == loaded.config


def test_origins_stand_beside_the_values() -> None:
    printed = print_config(parse_config("appwrapper:\n  defaultQueueName: q\n", "c.yaml"))
    assert '  defaultQueueName: "q"  # c.yaml:2\n' in printed
    assert '  schedulerName: ""  # default\n' in printed


def test_only_values_that_differ_from_the_default_are_changed() -> None:
    loaded = parse_config("appwrapper: {maxPodSets: 8, faultTolerance: {successTTL: 1d}}")
    assert changed_values(loaded) == {"appwrapper.faultTolerance.successTTLCeiling": "24h"}


def test_check_config_prints_valid_and_exits_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("webhooksEnabled: true\n")
    with pytest.raises(SystemExit) as end:
        config_from_flags(flags("--config", str(file), "--check-config"))
    assert end.value.code == 0
    output = capsys.readouterr()
    assert output.out == (
        f"{file}: the configuration is valid\n"
        "its periods and retries add up to 1h17m57s: if Kueue has waitForPodsReady (on by default "
        "from Kueue 0.19), timeout and recoveryTimeout must be 1h20m or longer\n"
    )
    assert output.err == (
        f"warning: {file}:1: webhooksEnabled: ignored: "
        "the webhook is a deployment of its own: remove that instead\n"
    )


def test_a_bad_configuration_exits_2_with_every_error_in_the_last_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is what `kubectl describe pod` shows."""
    file = tmp_path / "c.yaml"
    file.write_text("a: 1\nb: 2\n")
    with pytest.raises(SystemExit) as end:
        config_from_flags(flags("--config", str(file)))
    assert end.value.code == 2
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (
            "ERROR",
            f"the configuration cannot be used: {file}:1: a: Forbidden: unknown key; "
            f"{file}:2: b: Forbidden: unknown key",
        )
    ]
    assert capsys.readouterr() == ("", "")


def test_oddities_of_a_configuration_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("webhooksEnabled: true\n")
    assert config_from_flags(flags("--config", str(file))).config == Configuration()
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (
            "WARNING",
            f"{file}:1: webhooksEnabled: ignored: "
            "the webhook is a deployment of its own: remove that instead",
        )
    ]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("flag", ["--check-config", "--print-config", None])
def test_people_get_every_error_in_a_line_of_its_own(
    flag: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("a: 1\nb: 2\n")
    given = flags("--config", str(file), *([flag] if flag else []))
    with pytest.raises(SystemExit) as end:
        config_from_flags(given, only_prints=flag is None)
    assert end.value.code == 2
    assert caplog.records == []
    assert capsys.readouterr() == (
        "",
        "the configuration cannot be used:\n"
        f"{file}:1: a: Forbidden: unknown key\n"
        f"{file}:2: b: Forbidden: unknown key\n",
    )


def test_print_config_prints_and_exits_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("")
    with pytest.raises(SystemExit) as end:
        config_from_flags(flags("--config", str(file), "--print-config"))
    assert (end.value.code, capsys.readouterr().out) == (0, GOLDEN.read_text(encoding="utf-8"))
