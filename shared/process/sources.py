"""Hold what a process takes from its machine besides requests: time, chance, threads, a name.

`main` takes them from the machine. A test or a simulation gives others, so that one seed repeats a
whole run. Lint keeps other sources out of `controller` and `shared` (ruff.toml in each folder).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from threading import Thread

from shared.process.clock import Clock, SystemClock

StartThread = Callable[[Callable[[], None], str], None]
"""Runs a call in a thread of that name. The call never raises, and the caller does not wait."""


@dataclass(frozen=True, slots=True)
class Sources:
    """`random` decides only about jitter, and distinguishes the processes of one `host`.

    `start_thread` runs blocking calls; a simulation may run them at once.
    """

    clock: Clock
    random: Random
    start_thread: StartThread
    host: str

    @classmethod
    def of_the_machine(cls) -> "Sources":
        """Return the machine's own sources: only `main` and commands call this."""
        return cls(SystemClock(), Random(), start_daemon_thread, os.uname().nodename)


def start_daemon_thread(call: Callable[[], None], name: str) -> None:
    """Run `call` in a thread that does not keep the process alive."""
    Thread(target=call, name=name, daemon=True).start()
