"""How many connections a process may have open."""

import logging
import resource
from typing import Final

_log: Final = logging.getLogger(__name__)


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
