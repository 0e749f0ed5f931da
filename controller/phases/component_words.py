"""What components say of themselves, for the messages that people read."""

from collections.abc import Iterable

from controller.phases.snapshot import Component, Snapshot


def words_of(components: Iterable[Component]) -> str:
    """Each by its Kind and name, with its message."""
    return "; ".join(f"{each.kind} {each.name}: {each.message}" for each in components)


def with_trouble(message: str, snapshot: Snapshot) -> str:
    """`message`, which is about pods, and what those that make pods say is in their way."""
    in_trouble = [
        each
        for each in snapshot.components
        if each.message and each.terminal is None and not each.helper
    ]
    return f"{message}; {words_of(in_trouble)}" if in_trouble else message
