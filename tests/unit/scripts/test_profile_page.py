from xml.etree import ElementTree

from bench.circumstances import Circumstances
from bench.profile.tables import REST, Profile, ProfileTable
from scripts.profile_page import RESULTS, picture, profile_page

CIRCUMSTANCES = Circumstances("2026-01-02", "0123abcd", {"Kueue": "v1"}, "2 cores", 0.3, "c", 90.0)
ROWS = [("a <b>", [4.0, 2.0]), ("c", [1.0, 0.0]), (REST, [9.0, 9.0]), ("all", [14.0, 11.0])]
PROFILE = Profile(
    CIRCUMSTANCES,
    [
        ProfileTable("Requests", "sender", ("ours", "Go"), ROWS, (), 2),
        ProfileTable("Not drawn", "function", ("%",), [("f", [50.0])]),
    ],
)


def test_the_page_has_the_tables() -> None:
    page = profile_page(PROFILE)
    assert page.startswith("# Profile of a life\n")
    assert "\n### Requests\n" in page
    assert "\n| f | 50 |\n" in page


def test_the_picture_has_a_bar_for_each_drawn_number() -> None:
    root = ElementTree.fromstring(picture(PROFILE))
    kind = "{http://www.w3.org/2000/svg}"
    texts = [each.text for each in root.iter(f"{kind}text")]
    assert texts == ["Requests", "ours", "Go", "a <b>", "4 2", "c", "1 -"]
    background, *bars = root.iter(f"{kind}rect")
    assert [float(bar.attrib["width"]) for bar in bars] == [360.0, 180.0, 90.0, 0.0]
    assert float(background.attrib["width"].rstrip("%")) == 100.0


def test_the_recorded_profile_can_be_read() -> None:
    assert Profile.read(RESULTS).tables
