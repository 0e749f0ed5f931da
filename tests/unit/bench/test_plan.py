import pytest

from bench.plan import PARTS, Output, Plan, parse


def test_defaults() -> None:
    assert parse([]) == (Plan(), Output())
    assert Plan().parts == frozenset(PARTS)


def test_every_option() -> None:
    given = [
        "--only", "mutate, lifecycle", "--rounds", "2", "--requests", "500", "--reviews", "20",
        "--creates", "32", "--sizes", "1,10", "--json", "-", "--markdown",
    ]  # fmt: skip
    assert parse(given) == (
        Plan(
            parts=frozenset({"mutate", "lifecycle"}),
            rounds=2,
            requests=500,
            reviews=20,
            creates=32,
            sizes=(1, 10),
        ),
        Output(json="-", markdown=True),
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--only", "mutate,speed"], "there is no part speed; there are mutate, validate,"),
        (["--only", ""], "there is no part ''; there are mutate, validate,"),
        (["--rounds", "0"], "'0' is not a whole number above 0"),
        (["--rounds", "-1"], "'-1' is not a whole number above 0"),
        (["--sizes", "1,many"], "'many' is not a whole number above 0"),
    ],
)
def test_wrong_usage(given: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(given)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_default_run_takes_less_than_eight_minutes() -> None:
    assert 360 <= Plan().seconds <= 480


@pytest.mark.parametrize("part", PARTS)
def test_each_part_takes_its_time(part: str) -> None:
    without = Plan(parts=frozenset(PARTS) - {part})
    assert without.seconds < Plan().seconds
    assert Plan(parts=frozenset({part}), rounds=6).seconds > Plan(parts=frozenset({part})).seconds
