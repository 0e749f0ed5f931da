"""`python -m webhook`."""

import sys

from shared.process.early_signals import end_at_once_on_signals

if __name__ == "__main__":
    end_at_once_on_signals()
    # This import takes long: the signal handlers must exist before.
    from webhook.main import main

    sys.exit(main())
