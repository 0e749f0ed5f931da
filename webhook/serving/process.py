"""What the process itself is asked and allowed: to end, and how many connections it may have."""

import asyncio
import logging
import re
import resource
import signal
from typing import Any, Final

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


# uvloop's text (github.com/MagicStack/uvloop, issue 68).
_ENDED_CONNECTION: Final = re.compile(r"on <TCPTransport closed=True .*the handler is closed")


def report_loop_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log what nobody awaited as the event loop does, but an ended connection at level debug.

    A client may close a connection that uvloop is about to read: nothing is lost by that.
    """

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, RuntimeError) and _ENDED_CONNECTION.search(str(error)):
            _log.debug("a client closed its connection while it was being read")
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(report)
