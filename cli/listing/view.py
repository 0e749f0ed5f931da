"""The choice, order and form of the rows of `appwrapper list`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.creators import is_by, is_by_name
from cli.listing.gather import ListReader
from cli.listing.outline import AppWrapperOutline
from cli.listing.rows import ListContext, ListedAppWrapper, in_order, listed
from cli.listing.text import table
from cli.terminal import CommandTerminal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView:
    """The choice of rows, their order and their form, from the options.

    `own`: `user` is the caller's exact name. Otherwise its form in the label is enough.
    """

    output: str
    sort: str
    states: Sequence[str] = ()
    user: str = ""
    own: bool = False
    namespaces: bool = False

    @property
    def is_text(self) -> bool:
        """True for a table."""
        return self.output in ("text", "wide")

    def rows(
        self, outlines: Iterable[AppWrapperOutline], context: ListContext, now: datetime
    ) -> list[ListedAppWrapper]:
        """Compose the chosen rows in order."""
        rows = (listed(each, context, now) for each in outlines if self._is_wanted(each))
        wanted = (row for row in rows if not self.states or row.status in self.states)
        return in_order(wanted, self.sort)

    def text(self, rows: Sequence[ListedAppWrapper], now: datetime, width: int | None) -> str:
        """Format the table."""
        wide = self.output == "wide"
        return table(rows, now, namespaces=self.namespaces, wide=wide, width=width)

    def name(self, row: ListedAppWrapper) -> str:
        """Return the name for other commands, after the namespace if all are listed."""
        return f"{row.namespace}/{row.name}" if self.namespaces else row.name

    def _is_wanted(self, outline: AppWrapperOutline) -> bool:
        matches = is_by if self.own else is_by_name
        return not self.user or matches(outline.appwrapper, self.user)


def complain(reader: ListReader, view: ListView, terminal: CommandTerminal) -> None:
    """Write one line about all unknown columns. `-o name` has no columns."""
    if reader.unread and view.output != "name":
        reasons = "; ".join(f"{columns} ({why})" for columns, why in reader.unread.items())
        terminal.warn(f"not known: {reasons}")
