"""The race of commands: it counts the work of the processes that it starts, by turns, and refuses what failed."""

import os
import sys

import pytest

from benchmarks.commands import COMMANDS, Side, Timed, cpu_seconds, race, table

BUSY = "import time\nwhile time.process_time() < 0.3: pass"


def test_work_counts_and_waiting_does_not(tmp_path):
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    assert cpu_seconds([sys.executable, "-c", nested], tmp_path, dict(os.environ)) > 0.28
    assert cpu_seconds([sys.executable, "-c", "import time; time.sleep(0.5)"], tmp_path, dict(os.environ)) < 0.28


def test_a_command_that_fails_is_no_quick_command(tmp_path):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        cpu_seconds([sys.executable, "-c", "1 / 0"], tmp_path, dict(os.environ))


def test_sides_take_turns_and_begin_without_what_was_made_before(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "benchmarks.commands.cpu_seconds", lambda words, folder, _: asked.append((folder.name, words[3:])) or 2
    )
    sides = [Side(tmp_path, tmp_path / name) for name in ("before", "now")]
    for side in sides:
        (side.folder / "cache").mkdir(parents=True)
    commands = {"--help": COMMANDS["--help"], "report": Timed(("report", "{run}"), ("cache",))}
    race(sides, commands, turns=2)
    assert [name for name, _ in asked] == ["before", "now"] * 4
    assert asked[-1] == ("now", ["report", str(tmp_path / "now" / "run")])
    assert not any((side.folder / "cache").exists() for side in sides)


def test_the_table_has_the_median_and_what_is_left_of_it(tmp_path):
    before, now = (
        Side(tmp_path, tmp_path, {"doctor": [8.0, 4.0, 100.0]}),
        Side(tmp_path, tmp_path, {"doctor": [1.0, 2.0, 3.0]}),
    )
    assert table(before, now).splitlines()[-1] == "| `doctor` | 8.00 | 2.00 | 25% |"
