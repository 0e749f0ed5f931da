"""Choose the AppWrappers that are cancelled. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cli.creators import creator_of, is_by
from cli.durations import age
from cli.phases import ENDED, shown_phase
from shared.api.appwrapper import AppWrapper
from shared.api.lines import one_line
from shared.api.times import parse_time
from shared.waits.words import counted, few

TEACH: Final = (
    "name the AppWrappers: cancel NAME, cancel --me (all that you created and that have not"
    " ended) or cancel -l KEY=VALUE. Without one of these nothing is cancelled"
)
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class CancelTarget:
    """An AppWrapper to delete: only the object with this UID."""

    name: str
    uid: str
    user: str
    status: str
    created: datetime


def target(appwrapper: AppWrapper) -> CancelTarget:
    """Project an AppWrapper."""
    return CancelTarget(
        appwrapper.name,
        appwrapper.uid,
        creator_of(appwrapper),
        shown_phase(appwrapper),
        parse_time(appwrapper.metadata["creationTimestamp"]),
    )


def wrong_usage(names: Sequence[str], *, me: bool, selector: str | None) -> str:
    """Return the error; "" if the options choose something. No option chooses all."""
    if selector is not None and not selector.strip():
        return "-l needs a selector, as in -l project=vision: an empty one would select all"
    if not names and not me and selector is None:
        return TEACH
    if names and selector is not None:
        return "NAME and -l are two choices: give one of them"
    return ""


def not_own(appwrappers: Iterable[AppWrapper], user: str) -> str:
    """Return the error about AppWrappers of other users; "" if all are the user's."""
    others = {each.name: creator_of(each) for each in appwrappers if not is_by(each, user)}
    if not others:
        return ""
    name, owner = next(iter(others.items()))
    by = f"user {owner}" if owner else "an unknown user"
    verb = "is" if len(others) == 1 else "are"
    return (
        f"{few(others)} {verb} of another user ({name}: {by}): nothing was cancelled. Leave out"
        " --me to cancel AppWrappers of other users"
    )


def living(appwrappers: Iterable[AppWrapper], user: str) -> list[AppWrapper]:
    """Return those that have not ended and that no user has deleted yet; of the user, if named.

    An ended AppWrapper uses nothing and holds the history: only its name cancels it.
    """
    return [
        each
        for each in appwrappers
        if each.status.get("phase") not in ENDED
        and not each.deletion_requested
        and (not user or is_by(each, user))
    ]


def shown(targets: Sequence[CancelTarget], namespace: str, now: datetime) -> str:
    """Return one line for each target, below a heading."""
    names = max(len(each.name) for each in targets)
    lines = [f"{counted(len(targets), 'AppWrapper')} of namespace {namespace}:"]
    for each in targets:
        status, user = each.status or "-", one_line(each.user or "-", _LONGEST)
        lines.append(f"  {each.name:{names}}  {status:11}  {age(now - each.created):>4}  {user}")
    return "".join(f"{line}\n" for line in lines)
