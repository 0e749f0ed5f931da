"""`python -m webhook`."""

import signal
import sys


def _end(*_: object) -> None:
    """Asked to end before it began: the first process of a container would not hear of it."""
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    # Takes a while, hence here.
    from webhook.main import main

    sys.exit(main())
