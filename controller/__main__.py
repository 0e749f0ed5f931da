"""`python -m controller`."""

import sys

from shared.process.early_signals import end_at_once_on_signals

if __name__ == "__main__":
    end_at_once_on_signals()
    # Imported after the signal handlers are set, because the import is slow.
    from controller.main import main

    sys.exit(main())
