"""Whatever happens to what is printed, a command does its work, and says where its output could not go."""

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

door.COMMANDS["work"] = door.Command("__main__", "print a lot")
sys.exit(door.main())
"""


def ended(folder, stdout, **environment):
    """A command that prints a lot, then writes its result, with its output going somewhere."""
    command = [sys.executable, "-c", COMMAND, "work"]
    shell = fresh_shell() | environment
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, cwd=folder, env=shell, encoding="utf-8")


def test_a_reader_that_has_gone_stops_nothing_and_is_not_mentioned(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = ended(tmp_path, writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "said\n")
    assert (tmp_path / "result").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_a_full_disk_behind_standard_output_is_named_when_the_work_is_done(tmp_path):
    with open("/dev/full", "w") as full:
        done = ended(tmp_path, full)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "said",
        "attest: standard output cannot be written: No space left on device; expected a terminal, a pipe or a file with room. "
        "What belongs in files is written.",
    ]
    assert (tmp_path / "result").exists()


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


def test_a_configuration_is_read_in_a_locale_of_ascii_alone():
    """As on Windows, where a file without an encoding is read by the code page."""
    shell = fresh_shell() | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "attest", "fit", "DATA=planted", "--print_config"]
    said = subprocess.run(command, env=shell, capture_output=True)
    assert said.returncode == 0, said.stderr
