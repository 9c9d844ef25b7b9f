"""``attest explain``: any text, in the terminal and as a page; the same numbers as the evidence of the run."""

import io
import random

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console

from attest.app.cli.main import main
from attest.app.evaluating import LoadedRun, configuration_of
from attest.report.explained import Explanation, coloured, print_explained, printable, words_of
from attest.runs.belonging import checkpoint_digest, keep_digests
from attest.runs.folder import RunFolder, made_from, read_json, write_json
from tests.finished_runs import copy_of, only_folder

HOSTILE = "dull <script>alert(1)</script> [bold]x[/bold] \x1b[31mred\x1b[0m 🙂 the"


def explain(run, page, *arguments: str) -> int:
    return main(["explain", "--run", str(run.path), "--out", str(page), *arguments])


def test_a_text_of_the_test_split_gets_the_evidence_of_the_run(small_run, tmp_path, capsys):
    tables = {name: pd.read_parquet(small_run.evidence(name)).set_index("id") for name in ("instances", "E1", "E3", "E8")}
    text = tables["instances"].loc[7]
    assert explain(small_run, tmp_path / "page.html", "--text", " ".join(text["tokens"])) == 0
    said = capsys.readouterr().out
    assert f"{text['probability_praise']:.3f}" in said
    assert f"τ-b with attention {tables['E1'].loc[7, 'tau_gradient_inputs']:.3f}".replace("-0", "−0") in said
    heaviest = text["tokens"][np.argmax(text["attention"])]
    assert f"most: {heaviest} {text['attention'].max():.3g}"[:14] in said
    assert f"JSD {tables['E3'].loc[7, 'jsd_exact']:.3f} to attention" in said
    assert f"JSD {tables['E8'].loc[7, 'jsd_sparsemax']:.3f}" in said


@pytest.mark.whole("a run of its own")
def test_a_copied_run_explains_without_its_data(tmp_path, capsys):
    """The vocabulary is the run's own: neither a file that is gone nor one that was edited changes an answer."""
    texts = "text,label\n" + "".join(f"{'fine' if k % 2 else 'dull'} film {k % 3},{k % 2}\n" for k in range(40))
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text(texts)
    sources = [f"--data.init_args.{split}={tmp_path / f'{split}.csv'}" for split in ("train", "test")]
    quick = ["LOGGER=csv", "EXPERIMENTS=none", "--trainer.max_epochs=1", f"--run.root={tmp_path / 'runs'}"]
    assert main(["fit", "DATA=files", *sources, *quick]) == 0
    capsys.readouterr()
    run = only_folder(tmp_path / "runs")
    assert explain(run, tmp_path / "before.html", "--text", "a fine film") == 0
    before = capsys.readouterr().out
    (tmp_path / "train.csv").write_text(texts.replace("fine", "aardvark"))
    assert explain(run, tmp_path / "after.html", "--text", "a fine film") == 0
    assert capsys.readouterr().out == before.replace("before.html", "after.html")
    (tmp_path / "train.csv").unlink()
    copied = RunFolder(run.path.rename(tmp_path / "copied"))
    assert explain(copied, tmp_path / "after.html", "--text", "a fine film") == 0
    assert capsys.readouterr().out == before.replace("before.html", "after.html")


@pytest.mark.whole("commands on copies of a run")
def test_a_new_text_is_judged_without_the_sink_of_the_run(small_run, tmp_path):
    """The third word is made the sink of the run; without it nothing else changes."""
    run = copy_of(small_run, tmp_path)
    known = read_json(run.neutral)
    assert all(len(each["firsts"]) == 16 for each in known)
    loaded = LoadedRun(configuration_of(run), run)
    text = " ".join(pd.read_parquet(run.evidence("instances"))["tokens"][7])
    with loaded.prepared():
        token = int(loaded.datamodule.encode(loaded.datamodule.documents_of([text])).__getitems__([0])["token_ids"][0, 2])
        found = {}
        for sink in (None, -1, token):
            firsts = {} if sink is None else {"firsts": [sink] * 16}
            pools = [{name: each[name] for name in ("pool", "least_way")} | firsts for each in known]
            write_json(run.neutral, pools)
            found[sink] = {name: value for name, value in loaded.explained(1, text).items() if name.startswith("E19/")}
    assert {*found[None]} == {*found[-1]} == {*found[token]} - {"E19/right_without_sink", "E19/sink"}
    assert found[token]["E19/sink"] <= 2
    assert found[token]["E19/right"] == pytest.approx(found[None]["E19/right"], nan_ok=True)


@pytest.mark.whole("commands on copies of a run")
def test_neutral_words_of_another_checkpoint_are_refused(small_run, tmp_path, capsys):
    run = copy_of(small_run, tmp_path)
    known = read_json(run.neutral)
    digests = {each["made_from"]["checkpoint"] for each in known}
    assert digests == {checkpoint_digest(run.best)} == {made_from(run.evidence("E19"))["checkpoint"]}
    checkpoint = torch.load(run.best, weights_only=True)
    weights = checkpoint["state_dict"]
    first = next(name for name, each in weights.items() if each.is_floating_point())
    torch.save(checkpoint | {"state_dict": weights | {first: weights[first] + 1}}, run.best)
    keep_digests(run)  # as if the run had been trained to this checkpoint
    assert explain(run, tmp_path / "page.html", "--text", "the film") == 2
    assert f"type: attest evidence --run {run.path} E19 FORCE=1" in capsys.readouterr().err
    write_json(run.neutral, [{name: each[name] for name in ("pool", "least_way")} for each in known])  # as older versions did
    assert explain(run, tmp_path / "page.html", "--text", "the film") == 0


def test_a_folder_that_is_no_run_is_told_what_it_lacks(tmp_path, capsys):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "best.ckpt").touch()
    assert explain(RunFolder(tmp_path), tmp_path / "page.html", "--text", "a fine film") == 2
    assert f"{tmp_path / 'config.yaml'} does not exist; expected the folder of a trained run" in capsys.readouterr().err


def test_markup_emoji_and_escapes_are_shown_and_not_obeyed(small_run, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert explain(small_run, page, "--text", HOSTILE, "--text", "dull") == 0
    said = capsys.readouterr().out
    assert "\x1b[31m" not in said
    assert "[bold]x[/bold]" in said
    assert "🙂" in said
    assert "undefined" in said, "of one token, leave-one-out"
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


@pytest.mark.whole("trains on texts of two thousand tokens")
def test_a_text_of_two_thousand_tokens(small_run, tmp_path, capsys):
    draw = random.Random(0)
    words = ["the", "plot", "is", "not", "dull", ".", "a", "critic", "left", "superb"]
    file = tmp_path / "texts.txt"
    file.write_text(" ".join(draw.choice(words) for _ in range(2000)) + "\n\nthe cast is superb .\n", encoding="utf-8")
    assert explain(small_run, tmp_path / "page.html", "--file", str(file)) == 0
    said = capsys.readouterr().out
    assert said.count("\ntext ") == 2, "the blank line is no text"
    assert (tmp_path / "page.html").read_text().count("</b>") > 14_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--text", ""], "text 1 has no words"),
        (["--text", "fine", "--text", " \t "], "text 2 has no words"),
        (["--file", "nowhere.txt"], "nowhere.txt cannot be read"),
    ],
)
def test_nothing_to_explain_gets_a_sentence(small_run, tmp_path, arguments, sentence, capsys):
    assert explain(small_run, tmp_path / "page.html", *arguments) == 2
    errors = capsys.readouterr().err
    assert sentence in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_weights_are_colours_in_a_terminal_that_has_them():
    explanation = Explanation("E1/x", "Anything", "attention", np.array([0.0, 0.5, 1.0]))
    drawn = io.StringIO()
    words = words_of({"tokens": [*"abc"]})
    Console(file=drawn, force_terminal=True, color_system="truecolor").print(coloured(explanation, words))
    assert drawn.getvalue().startswith("a \x1b[30;48;2;128;184;216mb\x1b[0m \x1b[30;48;2;0;114;178mc\x1b[0m")


def test_without_colour_the_heaviest_tokens_are_named():
    text = {
        "title": "text 1", "predicted": "good", "probabilities": {"bad": 0.25, "good": 0.75}, "unknown": [],
        "tokens": ["a", "b\u202e"], "instances/attention": np.array([0.25, 0.75]),
    }  # fmt: skip
    drawn = io.StringIO()
    print_explained([text], Console(file=drawn, highlight=False))
    assert "most: b\N{REPLACEMENT CHARACTER} 0.75, a 0.25" in drawn.getvalue()
    assert "\x1b" not in drawn.getvalue()


def test_what_moves_the_cursor_is_replaced():
    assert printable("a\x1bb\u202ec\nd ✗🙂é") == "a�b�c�d ✗🙂é"


def test_all_readings_stand_beside_one_another_in_the_terminal_and_on_the_page(small_run, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert explain(small_run, page, "--text", "a fine <b> film of note") == 0
    said, html = capsys.readouterr().out, page.read_text()
    table = said[said.index("All readings of this text") :]
    for reading in ("Attention α", "Integrated", "Leave-one-out", "Norm-weighted"):
        assert reading in table
    assert "<caption><strong>All readings of this text.</strong>" in html
    assert '<tr><th scope="row">Leave-one-out</th>' in html
    assert "<b> " not in html[html.index("All readings") :], "words are escaped there too"


@pytest.mark.parametrize("command", ["explain", "evidence"])
def test_the_folder_of_a_trial_has_no_model(command, tmp_path, capsys):
    (tmp_path / "config.yaml").write_text(
        "run: {data: own, recipe: own, model: Bert, scoring: own, projection: own}\nseed_everything: 0\n"
        "trial: {model: transformers.BertForSequenceClassification, texts: 1, experiments: {E2: {}}, attest: 0.2.0}"
    )
    assert main([command, "--run", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path} is the folder of a trial, which contains no model; expected the folder of a trained run." in said
    assert "attest trial --model" in said


@pytest.mark.whole("commands on copies of a run")
def test_the_ending_of_the_file_makes_a_picture(small_run, tmp_path, capsys):
    picture = tmp_path / "text.svg"
    identity = int(pd.read_parquet(small_run.evidence("E19"))["id"][0])
    for _ in range(2):  # it may write over its own picture
        assert explain(small_run, picture, "--id", str(identity)) == 0
    assert f"Picture: {picture}" in capsys.readouterr().out
    assert picture.read_text().startswith("<svg ")
    for _ in range(2):
        assert explain(small_run, tmp_path / "text.PNG", "--text", "the plot is superb .") == 0
    assert (tmp_path / "text.PNG").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert explain(small_run, picture, "--text", "dull", "--text", "superb") == 2
    assert "is a picture, which shows one text, and 2 were given" in capsys.readouterr().err
    picture.write_text("<svg>of somebody</svg>")
    assert explain(small_run, picture, "--id", str(identity)) == 2
    assert "was not written by this command" in capsys.readouterr().err
