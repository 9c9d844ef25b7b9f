"""A run on passages with questions, from the command to its tables and its page."""

import random

import numpy as np
import pandas as pd
import pytest

from attest.app.adversaries import without_sense
from attest.app.cli.main import main
from attest.datamodules import BabiDataModule
from tests.conftest import without_places
from tests.finished_runs import QUESTIONS, only_folder

pytestmark = pytest.mark.whole("a run from beginning to end")


@pytest.fixture(scope="module")
def run(library):
    return library.run("questions")


def test_tables_hold_the_passages_and_their_questions(run):
    rows = pd.read_parquet(run.evidence("instances"))
    test = BabiDataModule(stories="generated", train_questions=60, test_questions=20, texts=16).corpus.test
    told = dict(zip(test.ids.tolist(), zip(test.tokens, test.table["question"].to_pylist(), strict=True), strict=True))
    assert len(rows) == 16
    for row in rows.to_dict("records"):
        words, question = told[row["id"]]
        assert row["tokens"].tolist() == words
        assert row["question"].tolist() == question
        assert len(row["attention"]) == len(row["rationale"]) == len(words)
        np.testing.assert_allclose(row["attention"].sum(), 1, atol=1e-5)
    importance = pd.read_parquet(run.evidence("E1"))
    assert (importance.set_index("id")["leave_one_out_inputs"].map(len) == rows.set_index("id")["length"]).all()


def test_its_page_shows_the_questions_and_says_how_often_attention_finds_the_supporting_statement(run):
    page = run.report.read_text()
    assert "Question or hypothesis: Where is " in page
    assert "This corpus marks the words that decide" in page
    assert "A line is under the tokens that decide the label." in page


def test_a_text_without_a_question_is_not_explained(run, tmp_path, capsys, snapshot):
    page = tmp_path / "page.html"
    assert main(["explain", "--run", str(run.path), "--text", "Mary went to the office .", "--out", str(page)]) == 2
    assert without_places(capsys.readouterr().err) == snapshot


def test_what_needs_a_model_without_questions_is_left_out_of_its_controls(run):
    (left_out,) = without_sense(run.settings())
    assert left_out[0] == "E6"
    assert "ConditionedClassifier reads a question beside each text" in left_out[1]


def test_a_model_that_chooses_among_candidates_gives_others_no_probability(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    names = [f"@entity{each}" for each in range(6)]
    draw = random.Random(0)
    for split, count in (("train", 40), ("dev", 12), ("test", 12)):
        told = [draw.sample(names, 3) for _ in range(count)]
        blocks = [f"@placeholder met {b}\n{a}\n{a} met {b} and {c} left" for a, b, c in told]
        (tmp_path / "cnn-qa").mkdir(exist_ok=True)
        (tmp_path / "cnn-qa" / f"{split}.txt").write_text("\n\n".join(blocks))
    typed = ("DATA=cnn-qa", "MODEL=question-bilstm", "RECIPE=jw-cnn-qa", "CUT=smoke", "LOGGER=csv", "EXPERIMENTS=importance")
    sizes = ("embedding_size=8", "hidden_size=4")
    small = [f"--model.init_args.network.init_args.encoder.init_args.{size}" for size in sizes]
    assert main(["fit", *typed, *small, f"--run.root={tmp_path / 'runs'}"]) == 0
    rows = pd.read_parquet(only_folder(tmp_path / "runs").evidence("instances"))
    assert len(rows) == 12
    for row in rows.to_dict("records"):
        possible = {word for word in row["tokens"] if word.startswith("@entity")}
        assert len(possible) == 3
        for name in names:
            assert (row[f"probability_{name}"] > 0) == (name in possible)


def test_its_guide_is_refused_before_anything_is_trained(tmp_path, capsys):
    assert main(["controls", *QUESTIONS, "GUIDE=base", f"--run.root={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert (
        "MODEL=question-bilstm cannot guide another model (E6): ConditionedClassifier reads a question beside each text"
        in said
    )
    assert "Leave GUIDE out" in said
    assert not [*tmp_path.iterdir()]
