"""Pages are read as people read them, and what they show is compared as people compare it."""

from pathlib import Path

import pytest

from tests.support.walkthrough import Block, Person, blocks_of, shows

PAGE = """# A page

```sh
first
```

## One

```sh
second
third  # refused
```

```
said
```

### Two

```sh
fourth
```

Text between.

```
of nobody
```

```yaml
key: value
```
"""
TABLE = "NAME   READY   AGE\nweb    2/2     5m3s\n"


def test_each_block_has_its_heading_and_what_it_shows(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("```sh\nfirst\n```\n\n", ""))
    assert blocks_of(page) == [
        Block("One", 5, "second\nthird  # refused\n", "said\n"),
        Block("Two", 16, "fourth\n", None),
    ]
    assert [each.is_refused for each in blocks_of(page)] == [True, False]


@pytest.mark.parametrize(
    "output",
    [
        TABLE,
        "NAME READY AGE\nweb 2/2 7s",
        "\nNAME     READY    AGE\nweb      2/2      2d4h\n\n",
    ],
)
def test_ages_and_the_width_of_columns_do_not_count(output: str) -> None:
    assert shows(TABLE, output)


@pytest.mark.parametrize(
    "output",
    ["", "NAME READY AGE", "NAME READY AGE\nweb 1/2 5s", TABLE + "more", "web 2/2 5s"],
)
def test_everything_else_does(output: str) -> None:
    assert not shows(TABLE, output)


def test_an_ellipsis_is_anything_within_its_line() -> None:
    assert shows("pod/web-… created", "pod/web-7d9f created")
    assert shows("pod/web-… created", "pod/web- created")
    assert not shows("pod/web-… created", "pod/web-7d9f\n created")
    assert not shows("pod/web-… created", "pod/api-7d9f created")


@pytest.mark.parametrize("output", ["done", "one\ndone", "one\ntwo\ndone\n"])
def test_a_line_of_an_ellipsis_is_any_number_of_lines(output: str) -> None:
    assert shows("…\ndone", output)
    assert not shows("…\ndone", output + "\nafterwards")
    assert shows("…\ndone\n…", output + "\nafterwards")


def test_nothing_of_a_pattern_has_a_meaning() -> None:
    assert shows("a.b [c] (d)", "a.b [c] (d)")
    assert not shows("a.b [c] (d)", "aab [c] (d)")


async def test_exported_variables_stay(tmp_path: Path) -> None:
    person = Person(tmp_path, {}, tmp_path, {"registry.example.com": "127.0.0.1:5000"})
    await person.types(Block("One", 1, 'export WHERE="registry.example.com"\n', None))
    assert await person.types(Block("One", 2, 'echo "$WHERE"\n', "registry.example.com\n"))


@pytest.mark.parametrize(
    ("block", "printed"),
    [
        (Block("One", 7, "echo out; false\n", None), "One, line 7: exit code 1\nout\n"),
        (Block("One", 7, "true  # refused\n", None), "One, line 7: exit code 0\n"),
        (
            Block("One", 7, "echo out\n", "in\n"),
            "One, line 7: exit code 0\nout\n\nis not what the page shows:\nin\n",
        ),
        (Block("One", 7, "false\ntrue\n", None), "One, line 7: exit code 1\n"),
    ],
)
async def test_an_error_names_the_failed_command(
    block: Block, printed: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError) as caught:
        await Person(tmp_path, {}, tmp_path).types(block)
    assert str(caught.value).partition("\nassert")[0].rstrip() == printed.rstrip()


async def test_a_command_shown_as_refused_may_fail(tmp_path: Path) -> None:
    block = Block("One", 1, "echo no; false  # refused\n", "no\n")
    assert await Person(tmp_path, {}, tmp_path).types(block) == "no\n"
