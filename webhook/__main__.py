"""`python -m webhook`."""

import sys

from shared.process.early_signals import end_at_once_on_signals

if __name__ == "__main__":
    end_at_once_on_signals()
    # Takes a while, hence here.
    from webhook.main import main

    sys.exit(main())
