"""Libraries keep to themselves what a user can do nothing about."""

import subprocess
import sys

from tests.conftest import fresh_shell
from tests.library import BEST_FIRST


def test_a_command_that_trains_says_what_is_ours_alone(tmp_path):
    arguments = ["fit", *BEST_FIRST, f"--run.root={tmp_path}"]
    said = subprocess.run([sys.executable, "-m", "attest", *arguments], capture_output=True, check=True, env=fresh_shell())
    first, *others = said.stdout.decode().splitlines()
    assert first.startswith("Training ")
    begins = [line.split(" ")[0] for line in others]
    assert begins == ["Epoch", "Epoch", "Evidence", "Test:", "Run", "Report:"]
    assert said.stderr == b""
