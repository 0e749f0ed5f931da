"""The container's termination log: a file that the kubelet mounts and reads at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from worker import termination_message
from worker.environment import TERMINATION_LOG

if TYPE_CHECKING:
    from worker.record import ErrorRecord

_SMALLEST_SHARE = 1024
_MARKER = termination_message.MARKER.encode()


class TerminationLog:
    """Writes a record beside the text of the user's program, within a budget of bytes."""

    def __init__(self, path: str, budget: int) -> None:
        self._path = path
        self._budget = budget
        self._ours = b""

    def write(self, record: ErrorRecord) -> None:
        """Replace our record, in one write. Raises OSError.

        Without the kubelet's file there is nothing to do: this is no container.
        """
        if self._path == TERMINATION_LOG and not os.path.exists(self._path):
            return
        users = self._users_text()
        if users:
            users = users[: max(0, self._budget - _SMALLEST_SHARE - 1)] + b"\n"
        self._ours = termination_message.encode(record, self._budget - len(users))
        self._replace(users + self._ours)

    def withdraw(self) -> None:
        """Remove our record, if we wrote one: the command ended well after all. Raises OSError."""
        if self._ours:
            users = self._users_text()
            self._ours = b""
            self._replace(users)

    def explains(self, exit_code: int, since_ns: int) -> bool:
        """True if a recorder that started after `since_ns` recorded this end."""
        try:
            record = termination_message.find(self._content().decode("utf-8", "replace"))
        except OSError:
            return False
        if record is None or record.started_ns is None:
            return False
        return record.exit_code == exit_code and record.started_ns > since_ns

    def _content(self) -> bytes:
        """Return the file's content, up to slightly more than the budget.

        A pipe, such as /dev/stderr, contains nothing, and reading it would never end.
        """
        if not os.path.isfile(self._path):
            return b""
        with open(self._path, "rb") as file:
            return file.read(self._budget + len(self._ours) + 1)

    def _users_text(self) -> bytes:
        """Return what the file contains without our record, or one of a recorder before us."""
        content = self._content()
        if self._ours and self._ours in content:
            content = content.replace(self._ours, b"")
        lines = content.rstrip(b"\n").split(b"\n")
        return b"\n".join(line for line in lines if not line.startswith(_MARKER))

    def _replace(self, content: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o644)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
