"""The one door: it lists every command, answers mistakes, and waits for no library that the answer does not need."""

import json
import re
import subprocess
import sys
from contextlib import suppress
from inspect import signature
from typing import get_args

import pytest

from attest.app.cli import keys, reproduce
from attest.app.cli.main import (
    COMMANDS,
    DONE,
    EXIT_CODES,
    FAILED,
    MISTAKE,
    OF_LIGHTNING,
    STOPPED_BY_SIGINT,
    STOPPED_BY_SIGPIPE,
    STOPPED_BY_SIGTERM,
    USAGE,
    main,
)
from attest.lightning_modules.key_adversary import Attack
from attest.report import gate
from attest.runs import dependent_names
from benchmarks.crashes import Laboratory
from docs.generate import ROOT, parsers_of
from tests.conftest import fresh_shell

HEAVY = ("pytorch_lightning", "wandb", "torchmetrics", "datasets", "spacy")
ASKED = """
import json, sys
from attest.app.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit:
        pass
print("\\n" + json.dumps([name for name in json.loads(sys.argv[2]) if name in sys.modules]))
"""


def loaded_by(commands, names, before="") -> list[str]:
    """Those of some modules that are loaded once these commands have been answered, in a fresh process."""
    program = [sys.executable, "-c", before + ASKED, json.dumps(commands), json.dumps(names)]
    done = subprocess.run(program, env=fresh_shell(), capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_help_has_a_line_for_every_command(words, capsys):
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if re.match(r"  [a-z]", line)] == list(COMMANDS)
    assert [int(line.split()[0]) for line in lines if re.match(r" +\d+  ", line)] == list(EXIT_CODES)
    assert all(len(line) <= 127 for line in lines)


def test_an_unknown_command_is_answered_with_all_of_them(capsys):
    assert main(["verdict"]) == 2
    said = capsys.readouterr().err
    assert "The command=verdict is not known; expected one of: adversarial, card, controls, demo, doctor" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_keeps_the_table_of_exit_codes(command, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    with suppress(SystemExit):  # argparse's and LightningCLI's, of code 0
        assert main([command, "--help"]) == DONE
    mistaken = main([command, *(["TABLE=jw-2"] if command == "reproduce" else []), "DATA=sstt", "--no-such-option=1"])
    assert mistaken == (USAGE if command == "gate" else MISTAKE)
    assert {mistaken, DONE, FAILED} <= EXIT_CODES.keys()
    assert capsys.readouterr().err.startswith("attest: ")
    assert list(tmp_path.iterdir()) == []


def test_the_gate_and_the_stopped_keep_the_table_of_exit_codes():
    assert {*gate.EXIT_CODES.values(), STOPPED_BY_SIGINT, STOPPED_BY_SIGPIPE, STOPPED_BY_SIGTERM} <= EXIT_CODES.keys()


@pytest.mark.parametrize("typed", [["verdict"], ["--no-such-option"], [""]])
def test_what_is_no_command_is_a_mistake(typed, capsys):
    assert main(typed) == MISTAKE


STARTED = {
    "runs of tables": reproduce.ATTEST,
    "runs that crash": signature(Laboratory).parameters["attest"].default,
}


@pytest.mark.whole("an interpreter of its own")
@pytest.mark.parametrize("command", STARTED.values(), ids=STARTED)
def test_what_starts_further_processes_starts_this_command_and_hears_how_it_ended(command):
    """Elsewhere tests put copies of one process in its place."""
    ended = subprocess.run([*command, "verdict"], env=fresh_shell(), capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("attest: The command=verdict is not known; expected one of: ")


@pytest.mark.whole("an interpreter of its own")
def test_help_and_mistyped_commands_load_no_library():
    helps = [[command, "--help"] for command in OF_LIGHTNING]
    asked = [[], ["--help"], ["--version"], ["fitt"], ["repot", "runs"], *helps]
    assert loaded_by(asked, [*HEAVY, "torch", "pandas", "scipy", "matplotlib"]) == []


@pytest.mark.whole("an interpreter of its own")
def test_mistyped_choices_and_help_load_nothing_of_training_and_tracking():
    mistakes = [
        ["fit", "DATA=sstt"],
        ["fit", "MODLE=cnn"],
        ["explain", "--run", "nowhere"],
        ["evidence"],
        ["adversarial", "DATA=sstt"],
        ["adversarial", "LAMBDA=x"],
        ["controls", "MODLE=cnn"],
        ["controls", "GUIDE=bas"],
        ["gate", "nowhere", "--require", "tokens=yes"],
        ["gate", "nowhere", "--require", "tokens"],
        ["card", "nowhere"],
        ["keys", "ATTACK=advers"],
        ["keys", "MODEL=transformr-dr"],
    ]
    ask = (
        "explain",
        "evidence",
        "doctor",
        "adversarial",
        "controls",
        "keys",
        "roar",
        "trial",
        "gate",
    )
    helps = [[command, "--help"] for command in ask]
    assert loaded_by([*mistakes, *helps, ["doctor"]], HEAVY) == []


def test_names_that_are_checked_before_their_owners_are_imported_are_theirs():
    assert {each["attack"] for each in keys.TRAINED.values()} == {*get_args(Attack)}


@pytest.mark.whole("an interpreter of its own")
def test_reading_runs_needs_no_module_that_windows_lacks():
    hidden = "import sys; sys.modules['fcntl'] = sys.modules['resource'] = None\n"
    imported = "import attest, attest.app.cli.table, attest.app.cli.report, attest.app.cli.explain\n"
    assert loaded_by([["--help"]], ["attest.app.cli.explain"], hidden + imported) == ["attest.app.cli.explain"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_is_plain_text_with_an_example_first_and_lists_every_argument(command, capsys):
    with suppress(SystemExit):  # argparse's
        main([command, "--help"])
    said = capsys.readouterr().out
    does, blank, example, *_ = said.splitlines()
    assert does.startswith(f"attest {command}: ")
    assert blank == ""
    assert example.startswith(f"    attest {command} ")
    assert "`" not in said
    for parser in parsers_of(command):
        assert [action.dest for action in parser._actions if not action.help] == []


def help_of(capsys, *words: str) -> list[str]:
    """Return the lines that a command prints before it ends."""
    with suppress(SystemExit):  # that of LightningCLI
        assert main([*words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("command", OF_LIGHTNING)
def test_the_help_of_choices_fits_a_screen_and_says_how_to_see_the_rest(command, capsys):
    lines = help_of(capsys, command, "--help")
    assert len(lines) <= 35
    assert max(map(len, lines)) <= 110
    assert lines[-1].startswith(f"attest {command} --help all lists the options of Lightning and of Attest")
    assert help_of(capsys, command, "DATA=sst", "-h") == lines


def test_the_whole_help_has_the_options_of_lightning_too(capsys):
    short, whole = help_of(capsys, "fit", "--help"), help_of(capsys, "fit", "--help", "all")
    assert whole[: len(short)] == short
    assert any(line.startswith("  --trainer.max_epochs ") for line in whole)
    assert any(line.startswith("  --run.upload_texts ") for line in whole)


def test_the_page_of_commands_has_every_command_and_every_target():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split()
    assert [name for name in COMMANDS if f"\n## attest {name}\n" not in page] == []
    assert [name for name in targets if f"\n| `make {name}` | " not in page] == []


TAKEN = {
    "controls": ("SEEDS", "GUIDE", "PROBE", *dependent_names.ADVERSARY_WORDS),
    "adversarial": dependent_names.ADVERSARY_WORDS,
    "keys": ("ATTACK",),
    "roar": ("READING", "STEPS"),
    "evidence": ("FORCE",),
    "reproduce": (*reproduce.WORDS, *reproduce.SELECTORS),
    "trial": ("LOGGER",),
}


@pytest.mark.parametrize("command", TAKEN)
def test_the_help_of_a_command_has_every_word_that_it_takes(command, capsys):
    with suppress(SystemExit):  # argparse's
        main([command, "--help"])
    said = capsys.readouterr().out
    assert [word for word in TAKEN[command] if not re.search(rf"\b{word}\b", said)] == []
