"""Handle the process's signals, its limit of descriptors and the event loop's errors."""

import asyncio
import logging
import re
import resource
import signal
from typing import Any, Final

_log: Final = logging.getLogger(__name__)


class Ending:
    """Count the requests to end, in three steps: drain; only finish requests in flight; cut them.

    Make it inside the running event loop.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.skip_drain = asyncio.Event()
        self.given_up = asyncio.Event()

    def request(self) -> None:
        """Take the next step."""
        for event in (self.requested, self.skip_drain, self.given_up):
            if not event.is_set():
                event.set()
                return

    def listen_to_signals(self) -> None:
        """Call `request` on each SIGTERM and SIGINT. Earlier handlers of these are replaced."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._heard, number)

    def _heard(self, number: signal.Signals) -> None:
        _log.info("%s: %s", number.name, "hurrying" if self.requested.is_set() else "ending")
        self.request()


def use_all_descriptors() -> None:
    """Raise the limit of descriptors to the system's maximum, as Go programs do.

    Many containers start with 1,024, for programs that use select(2). A thousand idle connections
    from anywhere in the cluster would then block the API server.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:
        _log.info("no more than %d files and connections at once: %s", soft, error)


# uvloop's text (github.com/MagicStack/uvloop, issue 68).
_ENDED_CONNECTION: Final = re.compile(r"on <TCPTransport closed=True .*the handler is closed")


def report_loop_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log errors like the event loop does, but a connection that its client ended at level debug.

    A client may close a connection that uvloop is about to read, which loses nothing.
    """

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, RuntimeError) and _ENDED_CONNECTION.search(str(error)):
            _log.debug("a client closed its connection while it was being read")
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(report)
