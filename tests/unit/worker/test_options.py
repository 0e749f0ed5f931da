"""The recorder's command line."""

import pytest

from worker.options import BadOption, Options, split


def test_the_command_is_what_stands_behind_two_dashes() -> None:
    assert split(["--", "torchrun", "--nproc_per_node", "2", "--", "x"]) == (
        Options(),
        ["torchrun", "--nproc_per_node", "2", "--", "x"],
    )


def test_every_option() -> None:
    arguments = ["--recoverable-exit-codes=10,11", "--exit-code=child", "--no-hook", "--", "true"]
    assert split(arguments) == (Options(frozenset({10, 11}), root_code=False, hook=False), ["true"])
    assert split(["--exit-code=root", "--", "true"])[0] == Options()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "no command: write it after `--`"),
        (["true"], "no command: write it after `--`"),
        (["--"], "no command: write it after `--`"),
        (["--fast", "--", "true"], "--fast is not understood"),
        (["--exit-code=mine", "--", "true"], "--exit-code=mine is not understood"),
        (["--recoverable-exit-codes=", "--", "a"], "--recoverable-exit-codes= is not understood"),
        (
            ["--recoverable-exit-codes=0", "--", "a"],
            "--recoverable-exit-codes=0 is not understood",
        ),
        (
            ["--recoverable-exit-codes=²", "--", "a"],
            "--recoverable-exit-codes=² is not understood",
        ),
    ],
)
def test_unknown_options_are_refused(arguments: list[str], reason: str) -> None:
    with pytest.raises(BadOption) as refusal:
        split(arguments)
    assert str(refusal.value) == reason
