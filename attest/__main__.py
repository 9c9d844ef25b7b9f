"""``python -m attest``: the same as the command ``attest``."""

import sys

from attest.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
