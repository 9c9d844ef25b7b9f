"""The one door: it lists every command, answers mistakes, and waits for no library that the answer does not need."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from inspect import signature
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attest.cli import dashboard, evidence, judges, keys, reproduce
from attest.cli.main import COMMANDS, main
from attest.experiments.readings import READINGS
from attest.lightning_modules.key_adversary import Attack
from attest.runs import adversary_names, reading_names
from attest.tracking.dashboard import PURPOSES
from benchmarks.crashes import Laboratory
from tests.conftest import fresh_shell

HEAVY = ("pytorch_lightning", "wandb", "torchmetrics", "datasets", "spacy")
NEEDLESS = ("transformers", "sklearn", "captum")
"""Libraries that no run of a network of ours on a corpus of ours needs."""
ASKED = """
import json, sys
from attest.cli.main import main
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
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(COMMANDS)
    assert all(len(line) <= 127 for line in lines)


def test_an_unknown_command_is_answered_with_all_of_them(capsys):
    assert main(["verdict"]) == 2
    said = capsys.readouterr().err
    assert "The command=verdict is not known; expected one of: adversarial, controls, dashboard" in said


STARTED = {
    "shards of evidence": evidence.ATTEST,
    "runs of tables": reproduce.ATTEST,
    "runs that crash": signature(Laboratory).parameters["attest"].default,
}


@pytest.mark.parametrize("command", STARTED.values(), ids=STARTED)
def test_what_starts_further_processes_starts_this_command_and_hears_how_it_ended(command):
    """Elsewhere tests put copies of one process in its place."""
    ended = subprocess.run([*command, "verdict"], env=fresh_shell(), capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("attest: The command=verdict is not known; expected one of: ")


@pytest.mark.slow
def test_help_and_mistyped_commands_load_no_library():
    asked = [[], ["--help"], ["--version"], ["fitt"], ["repot", "runs"]]
    assert loaded_by(asked, [*HEAVY, "torch", "pandas", "scipy", "matplotlib"]) == []


@pytest.mark.slow
def test_pages_and_tables_of_runs_load_nothing_of_training_and_tracking(tmp_path):
    nothing = str(tmp_path)
    compiler = "torch._dynamo"
    assert loaded_by([["table", nothing], ["report", nothing], ["table", "--help"]], [*HEAVY, compiler]) == []
    mistakes = [["report", "--run", nothing], ["report"], ["report", "--help"]]
    assert loaded_by(mistakes, [*HEAVY, "torch"]) == []


@pytest.mark.slow
def test_a_page_whose_figures_are_there_loads_nothing_that_draws_and_no_distributions(small_run, tmp_path):
    run = tmp_path / "planted" / "a-setting" / "seed0"
    shutil.copytree(small_run.path, run, ignore=shutil.ignore_patterns("wandb", "checkpoints", "figures"))
    for heavy in ([], [*HEAVY, "matplotlib", "scipy.stats", "scipy.sparse"]):
        (run / "report.html").unlink(missing_ok=True)
        assert loaded_by([["report", str(run)]], heavy) == []
        assert (run / "report.html").is_file()


@pytest.mark.slow
def test_a_page_that_is_current_loads_nothing_that_measures_and_draws(small_run):
    assert main(["report", str(small_run.path)]) == 0
    assert loaded_by([["report", str(small_run.path)]], [*HEAVY, "torch", "scipy", "matplotlib"]) == []


@pytest.mark.slow
def test_a_table_of_runs_loads_nothing_that_draws(tmp_path):
    assert loaded_by([["table", str(tmp_path)]], ["attest.report.collection", "matplotlib"]) == ["attest.report.collection"]


@pytest.mark.slow
def test_a_table_of_runs_loads_nothing_that_computes_once_titles_are_known(small_run):
    assert main(["table", str(small_run.path)]) == 0
    heavy = [*HEAVY, "torch", "scipy", "matplotlib"]
    assert loaded_by([["table", str(small_run.path)]], ["attest.report.notes", *heavy]) == ["attest.report.notes"]


@pytest.mark.slow
def test_a_plan_of_plain_runs_loads_no_network_library(tmp_path):
    plan = ["reproduce", "TABLE=jw-2,wp-2", "DRY=1", f"--run.root={tmp_path}"]
    assert loaded_by([plan], [*HEAVY, "torch", "scipy", "matplotlib"]) == []


@pytest.mark.slow
def test_mistakes_and_help_of_commands_that_train_or_ask_load_nothing_of_training_and_tracking():
    mistakes = [
        ["fit", "DATA=sstt"],
        ["fit", "MODLE=cnn"],
        ["fit", "DATA=sst", "--run.forse=1"],
        ["fit", "DATA=sst", "--model.init_args.nettwork=1"],
        ["fit", "DATA=sst", "--trainer.max_epochs=three"],
        ["fit", "DATA=sst", "--data.init_args.protocol=jw-papr"],
        ["fit", "DATA=sst", "PROTOCOL=jw-papr"],
        ["fit", "DATA=planted", "PROTOCOL=plain"],
        ["fit", "DATA=sst", "--model.init_args.loss_reduction=foo"],
        ["adversarial", "DATA=sst", "--data.init_args.texts=many"],
        ["explain", "--run", "nowhere"],
        ["evidence"],
        ["evidence", "--run", "nowhere", "--reading", "attenton"],
        ["data", "--check", "x"],
        ["dashboard", "--run", "nowhere"],
        ["adversarial", "DATA=sstt"],
        ["adversarial", "LAMBDA=x"],
        ["controls", "MODLE=cnn"],
        ["controls", "GUIDE=bas"],
        ["keys", "ATTACK=advers"],
        ["keys", "MODEL=transformr-dr"],
        ["roar", "READING=attenton"],
        ["roar", "DATA=sst", "--", "--run.forse=1"],
    ]
    ask = ("explain", "evidence", "data", "doctor", "dashboard", "adversarial", "controls", "keys", "roar", "judges", "trial")
    helps = [[command, "--help"] for command in ask]
    assert loaded_by([*mistakes, *helps, ["doctor"]], HEAVY) == []


def test_names_that_are_checked_before_their_owners_are_imported_are_theirs():
    assert tuple(READINGS) == reading_names.READINGS
    assert get_args(Attack) == keys.TRAINED
    assert tuple(dashboard.NAMES) == PURPOSES


SENTENCES = ["A good film for us all .", "A bad film for us all .", "It is longer than the other two ."]
SMALL_CORPORA = {
    "sst": {"text": SENTENCES, "label": [4, 0, 0]},
    "conll2000": {"tokens": [["He", "ran"]] * 10, "chunk_tags": [["B-NP", "B-VP"]] * 10},
}


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "needed"), [("sst", ["spacy"]), ("conll2000", [])])
def test_a_corpus_that_was_never_counted_is_counted_without_a_network_library(corpus, needed, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))
    (tmp_path / corpus).mkdir()
    for split in ("train", "validation", "test"):
        pq.write_table(pa.table(SMALL_CORPORA[corpus]), tmp_path / corpus / f"{split}.parquet")
    assert loaded_by([["data", "--check", corpus]], [*HEAVY, "torch", "transformers"]) == needed
    assert (tmp_path / "cache" / "counts.json").is_file()


@pytest.mark.slow
def test_a_run_that_is_asked_again_loads_no_library_that_it_does_not_need(small_run, tmp_path):
    questions = [
        ["explain", "--run", str(small_run.path), "--text", "a b", f"--out={tmp_path / 'page.html'}"],
        ["evidence", "--run", str(small_run.path), "E2"],
    ]
    assert loaded_by(questions, ["torchmetrics", *NEEDLESS]) == ["torchmetrics"]


@pytest.mark.slow
def test_a_run_that_logs_to_a_file_loads_nothing_of_wandb_and_of_other_corpora(tmp_path):
    """Lightning is there, so it was configured; it ends before training since no epochs are asked for."""
    fit = ["fit", "LOGGER=csv", "--trainer.max_epochs=0", f"--run.root={tmp_path}"]
    asked = [*HEAVY, *NEEDLESS, "attest.runs.training"]
    assert loaded_by([fit], asked) == ["pytorch_lightning", "torchmetrics", "attest.runs.training"]


@pytest.mark.slow
def test_a_plan_that_resolves_configurations_loads_nothing_of_tracking_and_of_transformers(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    plan = ["reproduce", "TABLE=dr-1", "DRY=1", f"--run.root={tmp_path}"]
    assert loaded_by([plan], [*HEAVY, *NEEDLESS, "torch._dynamo", "sympy", "attest.runs.pieces"]) == [
        "pytorch_lightning",
        "torchmetrics",
        "attest.runs.pieces",
    ]


@pytest.mark.slow
def test_reading_runs_needs_no_module_that_windows_lacks():
    hidden = "import sys; sys.modules['fcntl'] = sys.modules['resource'] = None\n"
    imported = "import attest, attest.cli.table, attest.cli.report, attest.cli.explain\n"
    assert loaded_by([["--help"]], ["attest.cli.explain"], hidden + imported) == ["attest.cli.explain"]


TAKEN = {
    "controls": ("SEEDS", "GUIDE", *adversary_names.NAMES),
    "adversarial": adversary_names.NAMES,
    "keys": ("ATTACK",),
    "roar": ("READING", "STEPS"),
    "evidence": ("JOBS", "GPUS", "PROFILE", "FORCE"),
    "judges": judges.WORDS,
    "reproduce": (*reproduce.WORDS, *reproduce.SELECTORS),
    "trial": ("LOGGER",),
}


@pytest.mark.parametrize("command", TAKEN)
def test_the_help_of_a_command_has_every_word_that_it_takes(command, capsys):
    with suppress(SystemExit):  # argparse's
        main([command, "--help"])
    said = capsys.readouterr().out
    assert [word for word in TAKEN[command] if not re.search(rf"\b{word}\b", said)] == []
