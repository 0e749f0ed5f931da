"""What is generated from code is as fresh as the code."""

from scripts.generate import PHASES_PAGE, phases_page


def test_the_page_of_phases_is_fresh() -> None:
    assert PHASES_PAGE.read_text() == phases_page(), "run `make generate`"
