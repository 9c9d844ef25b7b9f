"""What is typed after a target reaches attest, mistyped or not, so that nothing but what was asked for is trained."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    ("typed", "passed_on"),
    [
        (["train", "DATA=sst"], "attest fit DATA='sst'"),
        (["train", "data=sst"], "attest fit data='sst'"),
        (["train", "DTA=sst"], "attest fit DTA='sst'"),
        (["train", "ARGS=--trainer.max_epochs=3 --run.root=x"], "attest fit  --trainer.max_epochs=3 --run.root=x"),
        (["keys", "ATTACK=random,shuffle"], "attest keys ATTACK='random,shuffle'"),
        (["reproduce", "TABLE=jw-2"], "attest reproduce TABLE='jw-2'"),
        (["train", "DATA=o'clock"], r"attest fit DATA='o'\''clock'"),
    ],
)
def test_every_word_is_passed_on(typed, passed_on):
    command = ["make", "--dry-run", "--no-print-directory", *typed]
    ours = ("MAKE", "ARGS")  # `make test ARGS=…` is a make, too
    apart = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    said = subprocess.run(command, cwd=ROOT, env=apart, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1].strip().endswith(passed_on)


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_setup_says_how_long_it_takes_before_it_installs():
    command = ["make", "--dry-run", "--no-print-directory", "setup", "VENV=nowhere"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 0 <= said.find("3 to 10 minutes, about 2.5 GB") < said.find("-m venv") < said.find("pip install")
    assert said.find("pip install") < said.find("Installed in nowhere.")


def test_clean_removes_all_that_is_ignored_but_results():
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    kept = {"runs", "results", "node_modules", *(line for line in ignored if line.startswith("docs/results/"))}
    recipe = (ROOT / "Makefile").read_text().partition("\nclean:")[2].replace("$(VENV)", ".venv").split()
    assert [name for name in ignored if name not in kept and name not in recipe] == []
