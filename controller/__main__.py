"""`python -m controller`."""

import sys

from controller.main import main

if __name__ == "__main__":
    sys.exit(main())
