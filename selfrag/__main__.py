"""Run the command line as ``python -m selfrag``."""

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
