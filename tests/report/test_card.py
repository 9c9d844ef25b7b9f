"""The section of a model card: what it says, where it stands, and that nothing else in a card changes."""

import re

import pandas as pd
import pytest
import yaml

from attest.app.cli.main import main
from attest.experiments.verdict_errors import error_sentence
from attest.report.answer import UNKEPT
from attest.report.card import BEGIN, END, PICTURE, put_into, section
from attest.report.findings import Findings
from attest.runs.folder import TRIAL, RunFolder, read_json, write_json, write_table
from tests.report.made import READ, VERDICT, decided, made_run

NUMBERS = {
    "test/accuracy": 0.9,
    **{f"E2/tvd_median/{part}": 0.25 + place for part, place in (("mean", 0), ("ci_low", -0.1), ("ci_high", 0.1))},
}
CARD = """---
license: mit # a comment
# For reference, see the documentation of cards
tags: [a,   b]
---

# My model

It is mine.
"""


@pytest.fixture
def run(tmp_path) -> RunFolder:
    rows = decided([0, 1], [0, 1])
    run = made_run(
        tmp_path / "mine" / "jw-bilstm-additive-softmax" / "seed0", {"verdict": VERDICT} | NUMBERS, rows, data="sst"
    )
    write_json(run.identity, read_json(run.identity) | {"typed": ["DATA=sst", "SEED=0", "FORCE=1"]})
    write_table(run.evidence("instances"), rows, {"attest": "0.2.0"})
    write_table(run.evidence("E2"), pd.DataFrame({"id": [0, 1], "tvd_median": [0.2, 0.3]}), {"attest": "0.2.0"})
    return run


@pytest.fixture
def trial(run) -> RunFolder:
    settings = yaml.safe_load(run.config.read_text())
    tried = {"model": "mine.Model", "texts": 2, "experiments": {"E2": {"permutations": 9}}, "max_tokens": 3000, "until": 0.02}
    run.config.write_text(yaml.safe_dump(settings | {TRIAL: tried | {"attest": "0"}}))
    return run


def test_the_section_of_a_run(run, snapshot):
    assert section(Findings(run)) == snapshot


def test_the_section_of_a_trial(trial, snapshot):
    assert section(Findings(trial)) == snapshot


def test_a_card_has_sentences_of_the_texts_that_were_read_and_no_key(run):
    """The model is right in all texts but the two that E19 has not read."""
    write_table(run.evidence("instances"), decided([0] * 30, [0] * 28 + [1] * 2), {"attest": "0.2.0"})
    write_table(run.evidence("E19"), READ, {"attest": "0.2.0"})
    said = section(Findings(run)).replace("\N{NO-BREAK SPACE}", " ")
    assert "of 30 texts of the test split of sst, 100 were read in random order by attest 0.2.0, and in 80 of these" in said
    assert "The model decides 100 % [88 %, 100 %] of the texts that were read as their labels say." in said
    assert not re.search(r"\bE\d+\b|test/|\|", said)


def test_a_card_says_how_often_such_an_answer_is_wrong(run):
    assert error_sentence("in part", "attention") in section(Findings(run))


def measure(run, predicted=(0, 1)) -> None:
    write_table(run.evidence("instances"), decided([0, 1] * 15, [*predicted] * 15), {"attest": "0.2.0"})
    write_table(run.evidence("E19"), READ, {"attest": "0.2.0"})


def test_a_picture_stands_in_a_card_where_there_is_one(run):
    assert "![" not in section(Findings(run), "readings.svg"), "nobody measured what decides"
    measure(run)
    assert "![" not in section(Findings(run))
    shown = section(Findings(run), "readings.svg").replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"!\[In how many texts .* attention 80 % \[.*random order .*\]\(readings.svg\)", shown)
    measure(run, predicted=(1, 1))
    assert "![" not in section(Findings(run), "readings.svg"), "it has not learned its task"


def test_the_command_writes_the_picture_beside_the_card_and_spares_a_file_of_others(run, tmp_path, capsys):
    measure(run)
    card, picture = tmp_path / "card" / "README.md", tmp_path / "card" / PICTURE
    card.parent.mkdir()
    for _ in range(2):
        assert main(["card", str(run.path), "--into", str(card)]) == 0
        assert picture.read_text().startswith("<svg")
    assert f"]({PICTURE})" in card.read_text()
    picture.write_text("mine")
    assert main(["card", str(run.path), "--into", str(card)]) == 2
    assert picture.read_text() == "mine"
    assert "was not written by Attest" in capsys.readouterr().err


def test_a_name_ends_no_code_in_a_card(trial):
    settings = yaml.safe_load(trial.config.read_text())
    settings[TRIAL]["name"] = "mine`\n<script>"
    trial.config.write_text(yaml.safe_dump(settings))
    assert "`mine<script>`" in section(Findings(trial))


def test_a_command_that_a_stranger_may_have_written_is_left_out(run):
    write_json(run.identity, read_json(run.identity) | {"typed": ["DATA=sst", "--x=$(rm -rf .)"]})
    assert "rm -rf" not in section(Findings(run))
    assert "config.yaml" in section(Findings(run))


@pytest.mark.parametrize("written", [{"given": ["a=rm()"]}, {"asked": {"a=1); rm(": 2}}])
def test_a_call_that_a_stranger_may_have_written_is_left_out(trial, written):
    settings = yaml.safe_load(trial.config.read_text())
    trial.config.write_text(yaml.safe_dump(settings | {TRIAL: settings[TRIAL] | written}, sort_keys=False))
    assert "rm(" not in section(Findings(trial))
    assert "config.yaml" in section(Findings(trial))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_card_keeps_every_line_above_its_section(run, ending):
    card = CARD.replace("\n", ending)
    written = put_into(card, Findings(run))
    assert written.startswith(card + ending + BEGIN)
    assert written.endswith(END + ending)
    assert written.count("\n") == written.count(ending)


CARDS = ("", CARD, CARD.replace("\n", "\r\n"), "# Without", "---\n# none\n---\n")


@pytest.mark.parametrize("card", CARDS)
def test_an_older_section_is_replaced_where_it_stands(run, card):
    once = put_into(card, Findings(run)) + "And after it.\n"
    assert put_into(once, Findings(run)) == once
    write_json(run.summary, {"verdict": {"tokens": VERDICT["tokens"] | {"answer": "no", "sentence": "No. Never."}}} | NUMBERS)
    again = put_into(once, Findings(run))
    assert again.count(BEGIN) == 1
    assert again.endswith("And after it.\n")
    assert "No. Never." in again
    assert "In part." not in again


@pytest.mark.parametrize(
    "card",
    [
        f"{BEGIN}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
    ],
    ids=["no end", "end first", "two"],
)
def test_a_card_that_cannot_be_read_is_refused(run, card, refusal):
    with refusal():
        put_into(card, Findings(run))


def test_without_verdict_there_is_no_section(run, refusal):
    write_json(run.summary, NUMBERS)
    with refusal():
        section(Findings(run))


def test_a_trial_without_verdict_is_told_which_experiment_gives_one(trial, refusal):
    write_json(trial.summary, NUMBERS)
    with refusal():
        section(Findings(trial))


def test_a_run_without_a_table_of_texts_is_not_said_to_lack_labels(run):
    run.evidence("instances").unlink()
    write_table(run.evidence("E19"), READ)
    found = Findings(run)
    assert found.sentences[0].endswith(UNKEPT.format("instances"))
    assert "`: 100 texts of the test split of sst were read in random order" in section(found)


def test_a_command_that_makes_no_verdict_is_not_the_one_to_do_it_again(run):
    assert "attest fit DATA=sst" in section(Findings(run))
    typed = ["DATA=sst", "EXPERIMENTS=none", "--experiments.E2.permutations=9"]
    write_json(run.identity, read_json(run.identity) | {"typed": typed})
    assert "attest fit" not in section(Findings(run))
