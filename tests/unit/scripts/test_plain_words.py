"""The check of the English in texts and pages: which texts it reads, and what it finds."""

import pytest

from scripts.plain_words import offences

MODULE = '''
"""What a module's docstring says is checked."""
import logging, re
# A comment goes on
# where nobody reads it; `it says so` is code.
log = logging.getLogger(__name__)
KEY = "somebody"
def f(name):
    """Whoever reads this."""  # anew
    log.info("nobody reads this by default")
    log.warning("%s says no", name)
    re.compile("says? it")
    assert name, "it says no"
    raise ValueError(
        f"{name} is created anew: "
        f"the pods of {name['whoever']} run"
    )
def test_what_runs_here_ends():
    pass
class TestA:
    async def test_a_pod_that_fails_is_created_anew(self):
        pass
def helper_that_says_nothing():
    pass
'''
NAMES = ["18: What", "21: anew"]
PROSE = ["2: What", "2: says", "5: nobody", "9: Whoever", "9: anew"]

PAGE = """\
# What a title says

Kueue admits
the job anew. What is this? It `says` so, see [the page](https://host/says).

```
Error: nobody says so
```

- Where a list begins the pods run.
- What it means

| What it does | as it says |
|---|---|
"""


def found(path: str, source: str) -> list[str]:
    """Return the matches, each with its line, in the order of lines."""
    words = (line.split(":") for line in offences(path, source))
    return sorted((f"{line}:{word.replace(chr(34), '')}" for _, line, word, *_ in words), key=_line)


def _line(match: str) -> int:
    return int(match.partition(":")[0])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cli/a.py", [*PROSE, "11: says", "15: anew", *NAMES]),
        ("localcluster/a.py", [*PROSE, *NAMES]),
        ("tests/simulation/a.py", [*PROSE, *NAMES]),
        ("tests/unit/test_a.py", NAMES),
        ("docs/a.txt", []),
    ],
)
def test_names_of_tests_are_checked_everywhere_and_messages_in_the_product(
    path: str, expected: list[str]
) -> None:
    assert found(path, MODULE) == expected


@pytest.mark.parametrize("path", ["docs/users/a.md", "README.md", "worker/README.md"])
def test_a_page_has_paragraphs_items_and_cells_but_no_code_and_no_titles(path: str) -> None:
    assert found(path, PAGE) == ["4: anew", "10: Where", "13: says"]


def test_decisions_are_not_checked() -> None:
    assert found("docs/decisions/pods.md", PAGE) == []


def test_among_manifests_only_the_custom_resource_is_checked() -> None:
    definition = "    description: >-\n      The phase says\n"
    assert found("deploy/manifests/crd/a.yaml", definition) == ["2: says"]
    assert found("deploy/manifests/base/a.yaml", definition) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What runs here ends.", ["1: What"]),
        ("The pods go. Of these, two run.", ["1: Of"]),
        ("What it means", []),
        ("What runs now?", []),
        ("What to do next: read the page.", []),
        ("The pods run where it is warm.", []),
        ("an essay and a tellurium", []),
        ("the pods run\nanew", ["2: anew"]),
        ("its quota is put  back", ["1: put back"]),
        ("`says` quoted in a message", []),
    ],
)
def test_which_expressions_are_found(text: str, expected: list[str]) -> None:
    assert found("README.md", text) == expected


def test_a_match_names_the_place_and_what_to_write() -> None:
    assert list(offences("a.md", "All runs. Kueue starts\nthe pods anew.")) == [
        'a.md:2: "anew": write again, new'
    ]
