"""The check of the English in texts and pages: what it reads, what it finds, its baseline."""

import json
from pathlib import Path

import pytest

from scripts import plain_words
from scripts.plain_words import Text, found_in, lowered, matches, offences, patterns, texts_of

AVOIDED = patterns()

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
        f"{name} cannot be told: "
        f"the pods of {name['whoever it was']} run"
    )
'''

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

DEFINITION = """\
spec:
  versions:
  - description: Whoever reads it.
    says:
      description: >-
        The phase says
        what is next.
"""


def found(path: str, source: str) -> list[tuple[int, str]]:
    return [(match.line, match.found) for match in found_in(path, source, AVOIDED)]


def test_a_module_has_messages_docstrings_and_comments() -> None:
    texts = [(each.line, each.text) for each in texts_of("cli/a.py", MODULE)]
    assert texts == [
        (2, "What a module's docstring says is checked."),
        (9, "Whoever reads this."),
        (4, "A comment goes on\nwhere nobody reads it; ____________ is code."),
        (9, "anew"),
        (11, "%s says no"),
        (15, "… cannot be told: the pods of … run"),
        (16, "whoever it was"),
    ]
    assert found("cli/a.py", MODULE) == [
        (2, "What"),
        (2, "says"),
        (5, "nobody"),
        (9, "Whoever"),
        (9, "anew"),
        (11, "says"),
        (15, "cannot be told"),
        (16, "whoever"),
    ]


def test_a_module_beside_the_product_has_docstrings_and_comments_only() -> None:
    lines = [line for line, _ in found("localcluster/a.py", MODULE)]
    assert lines == [2, 2, 5, 9, 9]


def test_the_names_of_tests_are_sentences() -> None:
    source = """
def test_what_is_left_goes() -> None:
    pass

class TestA:
    async def test_a_pod_that_fails_is_created_anew(self) -> None:
        pass

def helper_that_says_nothing() -> None:
    pass
"""
    assert found("tests/unit/test_a.py", source) == [(2, "What"), (6, "anew")]


def test_a_page_has_paragraphs_items_and_cells_but_no_code_and_no_titles() -> None:
    assert found("docs/users/a.md", PAGE) == [(4, "anew"), (10, "Where"), (13, "says")]


def test_a_definition_has_descriptions() -> None:
    path = "deploy/manifests/crd/a.yaml"
    assert found(path, DEFINITION) == [(3, "Whoever"), (5, "says")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is left goes.", ["What"]),
        ("The pods go. Of these, two run.", ["Of"]),
        ("What it means", []),
        ("What runs now?", []),
        ("What to do next: read the page.", []),
        ("The pods run where it is warm.", []),
        ("an essay and a tellurium", []),
        ("the pods run\nanew", ["anew"]),
        ("its quota is put  back", ["put back"]),
        ("`says` quoted in a message", []),
    ],
)
def test_which_expressions_are_found(text: str, expected: list[str]) -> None:
    assert [each.found for each in matches(Text(1, text), AVOIDED)] == expected


def test_a_match_names_the_place_the_sentence_and_what_to_write() -> None:
    (match,) = matches(Text(7, "All runs. Kueue starts\nthe pods anew."), AVOIDED)
    assert (
        match.shown("a.md") == 'a.md:8: "anew" in "Kueue starts the pods anew.": write again, new'
    )
    (long,) = matches(Text(1, f"anew {'x' * 200}"), AVOIDED)
    assert long.shown("a.md") == f'a.md:1: "anew" in "anew {"x" * 95}…": write again, new'


def test_counts_above_and_below_the_baseline_fail() -> None:
    two = found_in("README.md", "it runs anew\n\nit ends anew\n", AVOIDED)
    assert list(offences({"README.md": two}, {"README.md": 2})) == []
    assert list(offences({"README.md": two}, {"README.md": 1})) == [
        "README.md: 2 expressions to avoid, the baseline allows 1:",
        '  README.md:1: "anew" in "it runs anew": write again, new',
        '  README.md:3: "anew" in "it ends anew": write again, new',
    ]
    lower = "lower the baseline with `python -m scripts.plain_words --lower`"
    assert list(offences({"README.md": two}, {"README.md": 3, "gone.md": 1})) == [
        f"README.md: 2 expressions to avoid, the baseline allows 3: {lower}",
        f"gone.md: 0 expressions to avoid, the baseline allows 1: {lower}",
    ]


def test_the_baseline_only_shrinks() -> None:
    two = found_in("README.md", "it runs anew\n\nit ends anew\n", AVOIDED)
    some = {"README.md": two, "b.md": two, "c.md": two, "d.md": []}
    assert lowered(some, {"README.md": 3, "b.md": 1, "d.md": 4, "gone.md": 1}) == {
        "README.md": 2,
        "b.md": 1,
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("webhook/rules/kinds.py", True),
        ("worker/hook/sitecustomize.py", True),
        ("docs/users/phases.md", True),
        ("docs/admins/install.md", True),
        ("README.md", True),
        ("CHANGELOG.md", True),
        ("deploy/manifests/crd/appwrappers.workload.codeflare.dev.yaml", True),
        ("docs/maintainers/architecture.md", True),
        ("CONTRIBUTING.md", True),
        ("samples/README.md", True),
        ("worker/README.md", True),
        ("docs/decisions/README.md", False),
        ("docs/decisions/pods.md", False),
        ("tests/unit/test_a.py", True),
        ("tests/simulation/world.py", True),
        ("scripts/plain_words.py", True),
        ("deploy/manifests/base/webhook.yaml", False),
    ],
)
def test_which_files_are_checked(path: str, expected: bool) -> None:
    assert plain_words.is_checked(path) is expected


def test_all_files_of_the_baseline_are_checked() -> None:
    baseline = json.loads(plain_words.BASELINE.read_text())
    assert [path for path in baseline if not plain_words.is_checked(path)] == []
    assert [path for path in baseline if not Path(path).exists()] == []
