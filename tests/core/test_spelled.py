"""Advice is spelled as its reader types: after make as a target of make, else as a command of attest."""

import re
from pathlib import Path

import pytest

from attest.app.cli.main import COMMANDS, main
from attest.core.spelled import BY_MAKE, TARGETS, spelled

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "advice", "by_make"),
    [
        (["fit"], "attest fit", "make train"),
        (["fit", "DATA=sst", "--a=1", "--b=2"], "attest fit DATA=sst --a=1 --b=2", 'make train DATA=sst ARGS="--a=1 --b=2"'),
        (["controls"], "attest controls", "make controls"),
        (["evidence", "--run=x"], "attest evidence --run=x", "attest evidence --run=x"),
    ],
)
def test_a_command_is_spelled_for_its_reader(typed, advice, by_make, monkeypatch):
    assert spelled(*typed) == advice
    monkeypatch.setenv(BY_MAKE, "1")
    assert spelled(*typed) == by_make


def test_each_target_that_runs_a_command_says_so():
    started = dict(re.findall(r"^([a-z]+):.*\n\t@ATTEST_BY_MAKE=1 \$\(BIN\)/attest ([a-z]+)", MAKEFILE, re.MULTILINE))
    assert {command: target for target, command in started.items()} == TARGETS
    assert MAKEFILE.count("@ATTEST_BY_MAKE=1 $(BIN)/attest") == len(TARGETS)
    assert "@$(BIN)/attest" not in MAKEFILE
    assert TARGETS.keys() <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("typed", "advice", "by_make"),
    [
        (["fit", "DATA=sts"], "attest fit DATA=sst", "make train DATA=sst"),
        (["fit", "SEED=x"], "attest fit SEED=0", "make train SEED=0"),
        (["keys", "ATTACK=x"], "attest keys DATA=sst MODEL=", "make keys DATA=sst MODEL="),
        (["reproduce", "TABLE=jw2"], "attest reproduce TABLE=jw-2", "make reproduce TABLE=jw-2"),
        (["reproduce"], "attest reproduce TABLE=jw-2 DATA=sst", "make reproduce TABLE=jw-2 DATA=sst"),
        (["demo", "--ot"], "    attest demo --out runs/demo\n", '    make demo ARGS="--out runs/demo"\n'),
    ],
)
def test_a_mistake_is_answered_in_the_command_that_was_typed(typed, advice, by_make, monkeypatch, capsys):
    assert main(typed) == 2
    assert advice in capsys.readouterr().err
    monkeypatch.setenv(BY_MAKE, "1")
    assert main(typed) == 2
    assert by_make in capsys.readouterr().err
