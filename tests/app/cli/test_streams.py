"""What is printed where a terminal lacks a character or a reader has gone."""

import os
import subprocess
import sys

import pytest

from attest.app.cli.main import main
from tests.conftest import fresh_shell

COMMAND = """
import sys
from attest.app.cli import main as door

def main(words):
    for line in range(20_000):
        print(line, "\\N{GREEK SMALL LETTER ALPHA}", flush=line % 1000 == 0)
    print("said", file=sys.stderr)
    open("result", "w").close()
    return 0

door.COMMANDS["work"] = door.Command("print a lot")
sys.modules[door.module_of("work")] = sys.modules["__main__"]
sys.exit(door.main())
"""


def ended(folder, stdout, **environment):
    """A command that prints a lot, then writes its result, with its output going somewhere."""
    command = [sys.executable, "-c", COMMAND, "work"]
    shell = fresh_shell() | environment
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, cwd=folder, env=shell, encoding="utf-8")


def test_a_reader_that_has_gone_ends_the_command_with_a_sentence(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = ended(tmp_path, writing)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == "attest: stopped, because a reader of its output has gone; type the same command to continue.\n"
    assert not (tmp_path / "result").exists()


@pytest.mark.whole("an interpreter of its own")
def test_signs_that_a_terminal_lacks_are_replaced(tmp_path):
    done = ended(tmp_path, subprocess.PIPE, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["0 ?", "1 ?"]
    assert len(done.stdout.splitlines()) == 20_000


def test_streams_that_are_not_the_process_s_own_stay(capsys):
    ours = sys.stdout
    assert main(["--version"]) == 0
    assert sys.stdout is ours
    assert capsys.readouterr().out.startswith("attest ")


@pytest.mark.whole("an interpreter of its own")
def test_a_configuration_is_read_in_a_locale_of_ascii_alone():
    """As on Windows, where a file without an encoding is read by the code page."""
    shell = fresh_shell() | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "attest", "fit", "DATA=planted", "--print_config"]
    said = subprocess.run(command, env=shell, capture_output=True)
    assert said.returncode == 0, said.stderr
