"""``attest …`` that is killed as its n-th file gets its name: ``attest_command("tests.killed")`` takes n, then the arguments.

With n = 0 nothing is killed, and the last line of standard output says how many files got a name.
"""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from attest.app.cli import main as cli


def main(arguments: Sequence[str]) -> int:
    """Run ``attest`` and kill this process at the n-th file, or count them."""
    fatal, *asked = arguments
    count, replace = 0, Path.replace

    def counted(path: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == int(fatal):
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(path, target)

    Path.replace = counted  # this process ends with the command
    code = cli.main(asked)
    print(f"\n{count}", flush=True)
    return code
