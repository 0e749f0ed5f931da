"""Tables in kubectl's style, without lines."""

from collections.abc import Collection

from rich.table import Table


def new_table(
    *headings: str, gap: int = 2, header_style: str = "dim", whole: Collection[str] = ()
) -> Table:
    """Return an empty table. A heading that begins with > marks a column of numbers.

    `gap`: the blanks between columns. `whole`: the columns that are cut off and not folded if the
    terminal is narrow; > means all columns of numbers.
    """
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=header_style)
    for heading in headings:
        number = heading.startswith(">")
        made.add_column(
            heading.removeprefix(">"),
            justify="right" if number else "left",
            no_wrap=heading in whole or (number and ">" in whole),
            overflow="fold",
        )
    return made
