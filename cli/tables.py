"""Tables in kubectl's style, without lines."""

from collections.abc import Collection

from rich.table import Table


def new_table(
    *headings: str, gap: int = 2, header_style: str = "dim", whole: Collection[str] = ()
) -> Table:
    """Return an empty table. A heading that begins with > marks a column of numbers.

    `gap`: the blanks between columns. `whole`: the columns that are not folded, besides numbers.
    """
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=header_style)
    for heading in headings:
        number = heading.startswith(">")
        made.add_column(
            heading.removeprefix(">"),
            justify="right" if number else "left",
            no_wrap=number or heading in whole,
            overflow="fold",
        )
    return made
