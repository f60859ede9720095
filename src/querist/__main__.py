"""`python -m querist` is the command `querist`."""

import sys

from querist.cli import main

if __name__ == "__main__":
    sys.exit(main())
