"""What the process itself is asked and allowed: to end, and how many connections it may have."""

import asyncio
import logging
import resource
import signal
from typing import Final

_log: Final = logging.getLogger(__name__)


class Ending:
    """Asked once, it ends in order; twice, at once but for requests in flight; then without them.

    Must be made inside the running event loop.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()
        self.given_up = asyncio.Event()

    def ask(self) -> None:
        """Once more."""
        for event in (self.asked, self.hurried, self.given_up):
            if not event.is_set():
                event.set()
                return

    def listen_to_signals(self) -> None:
        """Each SIGTERM and SIGINT asks. Whatever listened to them before is replaced."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._heard, number)

    def _heard(self, number: signal.Signals) -> None:
        _log.info("%s: %s", number.name, "hurrying" if self.asked.is_set() else "ending")
        self.ask()


def use_all_descriptors() -> None:
    """Raises the limit to what the system allows.

    Many containers begin with 1,024, for programs that use select(2): a thousand idle connections
    from anywhere in the cluster would then keep the API server out. Go programs do the same.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:
        _log.info("no more than %d files and connections at once: %s", soft, error)
