"""``make test`` says what it leaves out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]


@pytest.mark.whole("another pytest")
@pytest.mark.parametrize("workers", [[], ["--numprocesses=2", "--dist=loadfile"]], ids=["alone", "two workers"])
def test_the_last_line_before_pytests_own_says_what_was_left_out(workers):
    chosen = ["-m", "not whole", "tests/core/test_rounding.py", "tests/app/cli/test_kills.py"]
    done = subprocess.run([*PYTEST, *workers, *chosen], cwd=ROOT, capture_output=True, text=True, check=True)
    *_, said, _ = done.stdout.splitlines()
    assert re.match(r"Left out: 6 tests that take long: .* Type make test-whole to run them", said), done.stdout


@pytest.mark.whole("another pytest")
def test_a_whole_test_has_a_reason(tmp_path):
    (tmp_path / "test_it.py").write_text("import pytest\n\n\n@pytest.mark.whole\ndef test_it():\n    pass\n")
    command = [*PYTEST, f"--rootdir={ROOT}", f"--confcutdir={ROOT}", "-p", "tests.conftest", tmp_path / "test_it.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "test_it is whole without a reason; expected @pytest.mark.whole(" in done.stderr + done.stdout
