"""``python -m attest``: the same as the command ``attest``."""

import os
import sys

if sys.path[0] in ("", os.getcwd()):  # python -m puts the folder first where it is called: a run's may hold a yaml.py
    sys.path.append(sys.path.pop(0))
from attest.app.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
