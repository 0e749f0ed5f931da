import re

import pytest

from scripts.pages import BEGIN, END, first_paragraph, table, with_passage


def test_a_new_passage_takes_the_place_of_the_old_one() -> None:
    page = f"before\n{BEGIN}\n\nold\n\n{END}\nafter\n"
    assert with_passage(page, "\nnew\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_a_page_without_one_passage_is_an_error(page: str) -> None:
    message = f"the page needs one passage between {BEGIN!r} and {END!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        with_passage(page, "new")


@pytest.mark.parametrize(
    ("text", "first"), [(None, ""), ("One\n    line.\n\n    More.", "One line.")]
)
def test_the_first_paragraph_is_one_line(text: str | None, first: str) -> None:
    assert first_paragraph(text) == first


def test_a_bar_in_a_cell_ends_no_cell() -> None:
    assert table(("A", "B"), [("a|b", "c")]) == "| A | B |\n|---|---|\n| a\\|b | c |"
