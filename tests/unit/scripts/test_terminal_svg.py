"""The README's picture of a terminal is what the demo printed, and can be made again."""

import re

import pytest

from scripts.terminal_svg import PICTURE, RECORDED, SECTIONS, excerpt, picture
from tests.support.manifests import ROOT


def test_the_picture_is_fresh() -> None:
    assert PICTURE.read_text() == picture(RECORDED.read_text())


def test_the_recorded_sections_are_those_of_the_demo() -> None:
    text = RECORDED.read_text()
    assert text.startswith("$ make demo ONCE=1\n")
    assert [each for each in SECTIONS if f"\n{each}" not in text] == []
    for path in re.findall(r"-f (\S+)", text):
        assert (ROOT / path).is_file(), path


def test_it_loads_nothing_from_elsewhere() -> None:
    addresses = re.findall(r"https?://[^\"' )]+", PICTURE.read_text())
    assert set(addresses) == {"http://www.w3.org/2000/svg"}


def test_the_readme_shows_it() -> None:
    assert "(docs/terminal/demo.svg)" in (ROOT / "README.md").read_text()


def test_each_section_is_kept_once_and_cut() -> None:
    sections = [f"{heading} …\n" + "line  \n" * 20 for heading in SECTIONS]
    lines = excerpt("before\n" + "".join(sections) + sections[0]).splitlines()
    assert lines[:3] == ["$ make demo ONCE=1", "", f"{next(iter(SECTIONS))} …"]
    assert len(lines) == 1 + sum(SECTIONS.values()) + len(SECTIONS)
    assert "line  " not in lines


def test_a_section_that_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match="the demo prints no section '# a PyTorchJob whose"):
        excerpt("")
