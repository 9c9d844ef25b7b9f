"""Libraries keep to themselves what a user can do nothing about."""

import subprocess
import sys

import pytest

from tests.conftest import fresh_shell
from tests.finished_runs import BEST_FIRST


@pytest.mark.whole("a command in a process of its own")
def test_a_command_that_trains_says_what_is_ours_alone(tmp_path):
    arguments = ["fit", *BEST_FIRST, f"--run.root={tmp_path}"]
    said = subprocess.run([sys.executable, "-m", "attest", *arguments], capture_output=True, check=True, env=fresh_shell())
    first, *others = said.stdout.decode().splitlines()
    assert first.startswith("Training ")
    begins = [line.split(" ")[0] for line in others]
    assert begins == ["Epoch", "Epoch", "Evidence", "Test:", "Run", "Report:"]
    assert said.stderr == b""
