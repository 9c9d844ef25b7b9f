"""Each mistake of a newcomer in ``mistakes.yaml`` is answered by a sentence; nothing is trained and nothing is written."""

from pathlib import Path

import pytest
import yaml

from attest.app.cli.main import main

MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=[" ".join(mistake["typed"]) for mistake in MISTAKES])
def test_a_newcomer_is_told_what_was_found_what_is_expected_and_what_to_type(mistake, tmp_path, monkeypatch, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "reviews.csv").write_text("text,label\ngood,1\nbad,0\n")
    monkeypatch.chdir(tmp_path)
    for starting in ("attest.app.training.train", "attest.app.dependent.train_base"):
        monkeypatch.setattr(starting, lambda *asked: pytest.fail("it would train"))
    assert main([word.format(folder="empty") for word in mistake["typed"]]) == mistake.get("code", 2)
    said = capsys.readouterr().err
    assert said.startswith("attest: ")
    assert [part for part in mistake["says"] if part not in said] == [], said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "reviews.csv"]


def test_values_of_options_are_no_stray_words():
    from attest.runs.choices import expand

    options = [
        "--trainer.max_epochs",
        "3",
        "--data",
        "attest.datamodules.SstDataModule",
        "--seed_everything=3",
        "-c",
        "a.yaml",
    ]
    assert expand(["DATA=planted", *options])[-len(options) :] == options


def test_the_table_is_long_and_says_everything_once():
    assert len(MISTAKES) >= 50
    assert len({tuple(mistake["typed"]) for mistake in MISTAKES}) == len(MISTAKES)
