"""Every page: its links and anchors lead somewhere, its length, and its first sentence."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.manifests import ROOT

LONGEST = 1500
# References are looked up, not read: they may be as long as what they list.
REFERENCES = {
    "CHANGELOG.md",
    "docs/admins/certificates.md",
    "docs/admins/conditions-and-events.md",
    "docs/admins/configuration.md",
    "docs/admins/health.md",
    "docs/admins/logs.md",
    "docs/admins/metrics.md",
    "docs/admins/node-health.md",
    "docs/admins/operations.md",
    "docs/admins/rules.md",
    "docs/admins/runbook.md",
    "docs/admins/suspect-nodes.md",
    "docs/admins/team.md",
    "docs/admins/trust.md",
    "docs/maintainers/benchmark-figures.md",
    "docs/maintainers/profile.md",
    "docs/maintainers/conformance-controller.md",
    "docs/maintainers/conformance.md",
    "docs/users/annotations.md",
    "docs/users/explain.md",
    "docs/users/failures.md",
    "docs/users/generate.md",
    "docs/users/phases.md",
}
REFERENCE_FOLDERS = ("docs/decisions/",)  # each row stays for ever
READERS = re.compile(
    r"\bfor (?:[a-z]+ ){0,2}(?:admins|researchers|maintainers|team leads|users|everybody)\b"
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def pages() -> list[str]:
    """Tracked pages, and new ones that nobody ignores."""
    asked = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({each for each in found.stdout.split() if (ROOT / each).exists()})


PAGES = pages()


@cache
def prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text())


@cache
def anchors(page: Path) -> set[str]:
    """As GitHub makes them: a second heading of the same words gets `-1`."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        name, count = anchor, 0
        while name in found:
            count += 1
            name = f"{anchor}-{count}"
        found.add(name)
    return found


def dead_links(page: Path) -> list[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    dead = []
    for target in _LINK.findall(_CODE.sub("", prose(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        is_page = there.suffix == ".md" and there.is_file()
        if not there.exists() or (anchor and is_page and anchor not in anchors(there)):
            dead.append(target)
    return dead


def words(page: str) -> int:
    """Of the whole page, commands and what they print included."""
    return len((ROOT / page).read_text().split())


def is_reference(page: str) -> bool:
    return page in REFERENCES or page.startswith(REFERENCE_FOLDERS)


def names_its_reader(page: str) -> bool:
    """In the paragraph below its title."""
    paragraphs = [each for each in prose(ROOT / page).split("\n\n") if each.strip()]
    return len(paragraphs) > 1 and READERS.search(paragraphs[1].lower()) is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_to_a_heading(page: str) -> None:
    assert dead_links(ROOT / page) == []


def test_every_page_that_is_no_reference_can_be_read_in_one_go() -> None:
    long = {each: words(each) for each in PAGES if not is_reference(each)}
    long = {page: count for page, count in long.items() if count > LONGEST}
    assert long == {}, f"split the page: at most {LONGEST} words"


def test_every_page_names_its_reader_first() -> None:
    docs = [each for each in PAGES if each.startswith("docs/")]
    nameless = {each for each in docs if not names_its_reader(each)}
    assert nameless == set(), "say in the first sentence whom the page is for"


def test_every_page_of_a_list_exists() -> None:
    assert REFERENCES - set(PAGES) == set()


def test_links_that_count_as_dead(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other\n\n## The `part`: one\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n[a](other.md#the-part-one) [b](other.md#twice-1) [c](https://example.com/x)\n"
        "[d](#page) [e](gone.md) [f](other.md#gone) [g](#gone) `[h](code)`\n\n"
        "```\n# No heading\n[i](fenced.md)\n```\n"
    )
    assert dead_links(page) == ["gone.md", "other.md#gone", "#gone"]
