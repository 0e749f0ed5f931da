"""Reads the log of the simulated controllers for defects of the product.

A defect is a traceback, a failed pass without a fault, or a change that only the resync found.
"""

import logging
from collections.abc import Callable
from typing import Final

from tests.simulation.cluster import Cluster
from tests.simulation.loop import PROCESS

_REPAIR: Final = "the resync found a change"
_FAILED: Final = "request failed"


class ProductLog(logging.Handler):
    """Reads what the product logs, and reports defects. `disturbed`: a fault was injected.

    `slept`: the process woke a moment ago, so its watches are as late as its resync.
    """

    def __init__(
        self,
        cluster: Cluster,
        violate: Callable[[str, str], None],
        disturbed: Callable[[], bool],
        slept: Callable[[str | None], bool],
    ) -> None:
        super().__init__()
        self._cluster = cluster
        self._violate = violate
        self._disturbed = disturbed
        self._slept = slept

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._cluster.tell(f"{PROCESS.get()} logs {record.levelname} {text}")
        if record.exc_info or record.levelno >= logging.ERROR:
            error = record.exc_info[1] if record.exc_info else ""
            self._violate("traceback", f"{text}: {error!r}")
        if text.startswith(_REPAIR) and not self._slept(PROCESS.get()):
            self._violate("repair", text)
        if text.startswith(_FAILED) and not self._disturbed():
            self._violate("failed pass", text)
