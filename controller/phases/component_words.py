"""What components say of themselves, and what failed, for the messages that people read."""

from collections.abc import Iterable

from controller.phases.snapshot import Component, PodCounts, Snapshot


def words_of(components: Iterable[Component]) -> str:
    """Each by its Kind and name, with its message."""
    return "; ".join(f"{each.kind} {each.name}: {each.message}" for each in components)


def words_of_failed(pods: PodCounts) -> str:
    """How many pods failed, and which. Only where some did."""
    number = "1 failed pod" if pods.failed == 1 else f"{pods.failed} failed pods"
    return f"{number}: {pods.failed_named}" if pods.failed_named else number


def with_trouble(message: str, snapshot: Snapshot) -> str:
    """`message`, which is about pods, and what those that make pods say is in their way."""
    in_trouble = [
        each
        for each in snapshot.components
        if each.message and each.terminal is None and not each.helper
    ]
    return f"{message}; {words_of(in_trouble)}" if in_trouble else message
