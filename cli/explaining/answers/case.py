"""The input and the result of each answer function. Pure."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from cli.durations import when
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.moment import Moment, moment_of
from cli.explaining.queue_view import QueueView, queue_view
from cli.explaining.report import CommandHint, Next, Situation
from controller.phases.phase import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class SituationAnswer:
    """An answer. `sentence` begins with the AppWrapper's name. `details`: whole sentences."""

    situation: Situation
    sentence: str
    details: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    commands: tuple[CommandHint, ...] = ()


@dataclass(frozen=True)
class Case:
    """The facts about one AppWrapper at one moment."""

    seen: AppWrapperObjects

    @cached_property
    def moment(self) -> Moment:
        """The controller's view."""
        return moment_of(self.seen)

    @cached_property
    def queue(self) -> QueueView:
        """Kueue's view."""
        return queue_view(self.moment.appwrapper, self.seen)

    @property
    def now(self) -> datetime:
        """The API server's time of the read."""
        return self.seen.now

    @property
    def name(self) -> str:
        return self.moment.appwrapper.name

    @property
    def namespace(self) -> str:
        return self.moment.appwrapper.namespace

    @property
    def phase(self) -> Phase:
        """The phase that the controller acts on."""
        return self.moment.phase

    def when(self, moment: datetime) -> str:
        """Return `14:03:10 UTC, in 42 s`."""
        return when(moment, self.now)

    def kubectl(self, rest: str, why: str) -> CommandHint:
        """Return a command of kubectl in the AppWrapper's namespace."""
        return CommandHint(f"kubectl {rest} -n {self.namespace}", why)
