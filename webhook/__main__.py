"""`python -m webhook`."""

import sys

from webhook.main import main

if __name__ == "__main__":
    sys.exit(main())
