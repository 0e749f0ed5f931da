"""What every answer is found from, and what an answer is. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from cli.explaining.clock_words import clock, span, when
from cli.explaining.moment import Moment, moment_of
from cli.explaining.queue_view import QueueView, queue_view
from cli.explaining.report import CommandHint, Next, Situation
from cli.explaining.seen import Seen
from controller.phases.phase import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`sentence` begins with the AppWrapper's name. `details` are whole sentences."""

    situation: Situation
    sentence: str
    details: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    commands: tuple[CommandHint, ...] = ()


@dataclass(frozen=True)
class Case:
    """One AppWrapper at one moment, from all sides."""

    seen: Seen

    @cached_property
    def moment(self) -> Moment:
        """As the controller sees it."""
        return moment_of(self.seen)

    @cached_property
    def queue(self) -> QueueView:
        """As Kueue sees it."""
        return queue_view(self.moment.appwrapper, self.seen)

    @property
    def now(self) -> datetime:
        """The cluster's time."""
        return self.seen.now

    @property
    def name(self) -> str:
        """The AppWrapper's."""
        return self.moment.appwrapper.name

    @property
    def namespace(self) -> str:
        """The AppWrapper's."""
        return self.moment.appwrapper.namespace

    @property
    def phase(self) -> Phase:
        """As the controller takes it."""
        return self.moment.phase

    def when(self, moment: datetime) -> str:
        """`14:03:10 UTC, in 42 s`."""
        return when(moment, self.now)

    def clock(self, moment: datetime) -> str:
        """`14:03:10 UTC`."""
        return clock(moment, self.now)

    def span(self, duration: timedelta) -> str:
        """`42 s`."""
        return span(duration)

    def kubectl(self, rest: str, why: str) -> CommandHint:
        """A command of kubectl in the AppWrapper's namespace."""
        return CommandHint(f"kubectl {rest} -n {self.namespace}", why)
