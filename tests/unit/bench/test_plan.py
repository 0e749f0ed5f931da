from dataclasses import replace

import pytest

from bench.plan import PARTS, QUICK, SCALE, SCALE_PARTS, BenchPlan, parse


def test_defaults() -> None:
    assert parse([]) == (BenchPlan(), None)
    assert BenchPlan().parts == frozenset(PARTS)


def test_every_option() -> None:
    given = [
        "--only", "mutate, lifecycle", "--rounds", "2", "--requests", "500", "--reviews", "20",
        "--creates", "32", "--sizes", "1,10", "--detections", "5", "--flapping-seconds", "300",
        "--nodes", "50", "--heartbeat-seconds", "5",
        "--json", "-",
    ]  # fmt: skip
    assert parse(given) == (
        BenchPlan(
            parts=frozenset({"mutate", "lifecycle"}),
            rounds=2,
            requests=500,
            reviews=20,
            creates=32,
            sizes=(1, 10),
            detections=5,
            flapping_seconds=300,
            nodes=50,
            heartbeat_seconds=5,
        ),
        "-",
    )


def test_a_profile_takes_its_burst_from_the_sizes() -> None:
    assert parse(["--profile", "--sizes", "50"]) == (BenchPlan(profile=True, sizes=(50,)), None)


def test_other_options_change_a_quick_run() -> None:
    assert parse(["--quick"]) == (QUICK, None)
    assert parse(["--sizes", "1", "--quick"]) == (replace(QUICK, sizes=(1,)), None)


def test_other_options_change_a_run_at_scale() -> None:
    assert parse(["--scale"]) == (SCALE, None)
    given = ["--scale", "--sizes", "10,20", "--failures", "4", "--hanging", "2"]
    changed = replace(SCALE, sizes=(10, 20), failures=4, hanging=2, idle_seconds=1)
    assert parse([*given, "--idle-seconds", "1"]) == (changed, None)


def test_a_part_at_scale_can_be_chosen_alone() -> None:
    assert not frozenset(SCALE_PARTS) & BenchPlan().parts
    assert parse(["--only", "crowd"]) == (BenchPlan(parts=frozenset({"crowd"})), None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--only", "mutate,speed"], "there is no part speed; there are mutate, validate,"),
        (["--only", ""], "there is no part ''; there are mutate, validate,"),
        (["--rounds", "0"], "'0' is not a whole number above 0"),
        (["--rounds", "-1"], "'-1' is not a whole number above 0"),
        (["--sizes", "1,many"], "'many' is not a whole number above 0"),
        (["--quick", "--scale"], "--scale: not allowed with argument --quick"),
        (["--profile", "--only", "mutate"], "--only: not allowed with argument --profile"),
    ],
)
def test_wrong_usage(given: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(given)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
