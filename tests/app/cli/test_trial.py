"""``attest trial``: somebody's fine-tuned model and a file of texts in, tables and a report out; mistakes in a sentence."""

import json
import re
import shutil
import sys
from copy import deepcopy
from pathlib import Path

import pandas as pd
import pytest
import torch

import attest
from attest.app.cli.main import main
from attest.app.trial_folder import default_folder
from attest.report.summary import VERSION
from attest.runs.folder import UNFINISHED, RunFolder
from tests.conftest import without_places
from tests.models.pretrained.speaking import speaking_tokenizer
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny


@pytest.fixture(scope="module")
def folder(model, tokenizer, tmp_path_factory):
    """A model as save_pretrained leaves it."""
    place = tmp_path_factory.mktemp("model")
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A file of labelled texts."""
    file = tmp_path_factory.mktemp("data") / "reviews.csv"
    lines = [f"{text},{'good' if 'fine' in text and 'not' not in text else 'bad'}" for text in TEXTS if "," not in text]
    file.write_text("\n".join(["text,label", *lines]))
    return file


def tried(*arguments):
    return main(["trial", *map(str, arguments)])


def test_a_model_from_a_folder_is_put_on_trial(folder, reviews, tmp_path, capsys, snapshot):
    assert tried("--model", folder, "--data", reviews, "--out", tmp_path / "out", "E2", "e9") == 0
    said = capsys.readouterr().out
    assert "E2   Shuffling the attention weights among the tokens" in said
    assert f"Report:     {tmp_path / 'out' / 'report.html'}" in said
    run = RunFolder(tmp_path / "out")
    assert sorted(path.stem for path in run.evidence("E2").parent.glob("*.parquet")) == ["E2", "E9", "instances"]
    assert f"{folder.name} on reviews.csv</" in run.report.read_text(), "without the folders that the file lies in"
    assert "probability_good" in run.evidence("instances").read_bytes().decode("latin-1")
    assert tried("--model", folder, "--data", reviews, "--out", tmp_path / "out") == 2
    assert without_places(capsys.readouterr().err) == snapshot


def test_the_summary_alone_is_printed_for_other_programs(folder, reviews, tmp_path, capfd):
    """Also by processes that share the work, and where columns are guessed aloud."""
    given = ("--model", folder, "--data", reviews, "--json", "E9")
    assert tried(*given, "--out", tmp_path / "out", "--processes", 2) == 0
    out, err = capfd.readouterr()
    assert out == (tmp_path / "out" / "summary.json").read_text()
    assert json.loads(out)["version"] == VERSION
    assert "Folder:" in err
    assert "guessed" in err
    assert tried(*given, "--out", tmp_path / "out", "--texts", 3) == 2
    assert capfd.readouterr().out == ""


def test_a_tested_text_is_explained_from_the_folder_of_a_trial(folder, reviews, tmp_path, capsys):
    out = tmp_path / "out"
    assert tried("--model", folder, "--data", reviews, "--out", out, "--processes", 1, "E1") == 0
    capsys.readouterr()
    assert main(["explain", "--run", str(out), "--id", "0", "--id", "2"]) == 0
    said = capsys.readouterr().out
    assert "text 0: " in said
    assert "text 2: " in said
    assert "a fine film" in " ".join(said.split())
    assert re.search(r"text 2 · label \w+ · predicted", (out / "explained.html").read_text())
    assert repr(attest.open_run(out).tested(0)) in said
    for wrong in (["--id", "9"], ["--id", "0", "--text", "a film"], ["--text", "a film"]):
        assert main(["explain", "--run", str(out), *wrong]) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("attest: ")


@pytest.mark.parametrize("kept", ["float32", "bfloat16", "float16"])
def test_a_file_in_half_precision_is_said_to_be_tried_in_float32(model, tokenizer, reviews, tmp_path, capsys, kept):
    deepcopy(model).to(getattr(torch, kept)).save_pretrained(tmp_path / "half")
    tokenizer.save_pretrained(tmp_path / "half")
    assert tried("--model", tmp_path / "half", "--data", reviews, "--out", tmp_path / "out", "--processes", 1, "E9") == 0
    told = f"{tmp_path / 'half'} is kept in {kept}, and is tried in float32"
    assert ("".join(capsys.readouterr()).startswith(told)) is (kept != "float32")


def test_a_trial_is_saved_before_anything_is_printed(folder, reviews, tmp_path, monkeypatch):
    monkeypatch.setattr("attest.app.cli.trial.print", lambda *args, **kwargs: 1 / 0, raising=False)
    with pytest.raises(ZeroDivisionError):
        tried("--model", folder, "--data", reviews, "--out", tmp_path / "out", "--processes", 1, "E13")
    assert RunFolder(tmp_path / "out").report.is_file()


def test_fewer_texts_are_a_sample_of_the_file(folder, reviews, tmp_path):
    assert tried("--model", folder, "--data", reviews, "--out", tmp_path / "out", "--texts", 2, "E13") == 0
    table = pd.read_parquet(RunFolder(tmp_path / "out").evidence("instances"))
    assert sorted(table["label"]) == [0, 1], "of eleven texts, one of each class"


def test_a_corpus_is_named(folder, corpora, tmp_path, capsys):
    given = ("--model", folder, "--data", "sst", "--labels", "negative,positive", "--texts", 4, "E13")
    assert tried(*given, "--out", tmp_path / "out") == 0
    assert "Texts:      a random sample of 4 of the 10 in the test split of sst" in capsys.readouterr().out
    table = pd.read_parquet(RunFolder(tmp_path / "out").evidence("instances"))
    assert list(table["tokens"][0])[1:4] == ["a", "dull", "film"]
    assert set(table["label"]) == {0, 1}


def test_a_corpus_without_such_a_split_or_of_another_kind(folder, corpora, capsys):
    assert "sst has no dev split in its source; expected one of: train, validation, test" in refused(
        capsys, "--model", folder, "--data", "sst", "--split", "dev"
    )
    assert (
        "conll2000 has a tag for each word, but the model needs a label for each text; expected one of: sst, imdb, 20news"
        in refused(capsys, "--model", folder, "--data", "conll2000")
    )


@pytest.fixture
def broken(folder, tmp_path):
    """A copy of the model that something is wrong with."""

    def spoil(**config):
        place = tmp_path / "model"
        shutil.copytree(folder, place)
        known = json.loads((place / "config.json").read_text())
        (place / "config.json").write_text(json.dumps(known | config))
        return place

    return spoil


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where a folder of results may be made."""
    monkeypatch.chdir(tmp_path)


def refused(capsys, *arguments):
    capsys.readouterr()  # bars of a model that was saved
    assert tried(*arguments) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    return sentence


def test_no_such_model(reviews, capsys, tmp_path):
    said = refused(capsys, "--model", tmp_path / "nowhere", "--data", reviews)
    assert "is neither a local folder nor a model that can be loaded from the Hub" in said
    assert "has no config.json" in refused(capsys, "--model", tmp_path, "--data", reviews)


def test_code_of_others_is_never_run(broken, reviews, capsys):
    place = broken(auto_map={"AutoModelForSequenceClassification": "theirs.Model"})
    (place / "theirs.py").write_text("raise SystemExit('it was run')")
    assert "Python code from its own folder" in refused(capsys, "--model", place, "--data", reviews)


def test_weights_that_are_not_fine_tuned_or_no_safetensors(folder, reviews, tmp_path, capsys):
    base = tmp_path / "base"
    shutil.copytree(folder, base)
    tiny("bert", vocab_size=len(WORDS), num_labels=2).bert.save_pretrained(base)
    assert "has no weights for classifier.bias" in refused(capsys, "--model", base, "--data", reviews)
    (base / "model.safetensors").unlink()
    assert "has no model.safetensors" in refused(capsys, "--model", base, "--data", reviews)


def test_a_tokenizer_that_is_not_there(folder, reviews, tmp_path, capsys, snapshot):
    place = tmp_path / "model"
    shutil.copytree(folder, place)
    (place / "tokenizer.json").unlink()
    (place / "vocab.txt").unlink(missing_ok=True)
    assert without_places(refused(capsys, "--model", place, "--data", reviews)) == snapshot


def test_an_architecture_out_of_reach(tmp_path, tokenizer, reviews, capsys):
    tiny("longformer", vocab_size=len(WORDS), num_labels=2, attention_window=[8, 8]).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    said = refused(capsys, "--model", tmp_path, "--data", reviews, "--labels", "bad,good")
    assert "LongformerForSequenceClassification is not supported" in said


@pytest.mark.parametrize(
    "content", ["text,label\n", "text,label\na film,great\n", "text,label\na film,pos\na bore,neg\n", "text,label\n,good\n"]
)
def test_data_that_do_not_fit(folder, tmp_path, capsys, content, snapshot):
    (tmp_path / "data.csv").write_text(content)
    assert without_places(refused(capsys, "--model", folder, "--data", tmp_path / "data.csv")) == snapshot


def test_numbers_are_read_by_the_range_of_the_whole_file(tmp_path, tokenizer, capsys):
    model = tiny("bert", vocab_size=len(WORDS), num_labels=3)
    model.config.id2label = {0: "1 star", 1: "2 stars", 2: "3 stars"}
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    file = tmp_path / "data.csv"
    file.write_text("text,label\n" + "a film,1\ndull,2\nfine,2\n" * 3)
    command = ("--model", tmp_path / "model", "--data", file, "--processes", 1, "--out", tmp_path / "out")
    said = refused(capsys, *command)
    assert "1 has two meanings: '2 stars' if classes count from 0, '1 star' if they count from 1" in said
    assert "For numbers type --labels 0,1,2 or --labels 1,2,3." in said
    file.write_text(file.read_text() + "a film,0\n")
    assert tried(*command, "--texts", 2, "E13") == 0, "the 0 counts also where it is not chosen"
    assert tried(*command[:-1], tmp_path / "other", "--labels", "0, 1,2", "E13") == 0
    table = pd.read_parquet(RunFolder(tmp_path / "other").evidence("instances"))
    assert table["label"].tolist() == [1, 2, 2] * 3 + [0]
    file.write_text("text,label\n" + "a film,1\ndull,2\nfine,3\n" * 3)
    assert tried(*command[:-1], tmp_path / "from 1", "--labels", "1,2,3", "E13") == 0
    table = pd.read_parquet(RunFolder(tmp_path / "from 1").evidence("instances"))
    assert table["label"].tolist() == [0, 1, 2] * 3


def test_what_is_typed_wrongly(folder, reviews, capsys):
    assert "fine is not an experiment" in refused(capsys, "--model", folder, "--data", reviews, "fine")
    assert "'E12' is not known" in refused(capsys, "--model", folder, "--data", reviews, "E12")
    assert "--texts 0 was typed" in refused(capsys, "--model", folder, "--data", reviews, "--texts", 0)


def test_the_doctor_says_what_can_be_asked_of_a_model(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["doctor", "--model", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in ("BertForSequenceClassification", "bad, good", "computed 2 times in a pass, 4 heads", "at its first token"):
        assert part in said
    assert "E1, E2, E3, E8, E9, E10, E13, E14, E15" in said
    assert "What would stop a trial: nothing" in said


def test_the_doctor_says_what_makes_no_sense_for_a_decoder(tokenizer, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    tiny("llama", vocab_size=len(WORDS), num_labels=2).save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    assert main(["doctor", "--model", str(tmp_path / "decoder")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at its last token" in said
    assert "E3: tokens see only what stands before them" in said


def test_the_doctor_says_how_a_language_model_is_asked(speaker, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    asked = ["--prompt", r"Review: {text}\nSentiment:", "--labels", "bad= bad,good= good"]
    assert main(["doctor", "--model", str(speaker), *asked]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "classes │ bad, good",
        "takes 6 tokens beside the text",
        "bad: ' bad', told by its first token 'Ġbad'",
        "E16",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prompt", "{text}:", "--labels", "bad= bad,worse= bad"], "begin with the same token"),
        (["--prompt", "{text}:"], "has '' without an answer"),
        ([], "or use a language model with --prompt"),
    ],
)
def test_the_doctor_refuses_a_prompt_as_the_trial_does(speaker, capsys, options, said):
    assert main(["doctor", "--model", str(speaker), *options]) == 2
    assert said in capsys.readouterr().err


def test_the_doctor_refuses_as_the_trial_does(tmp_path, capsys):
    assert main(["doctor", "--model", str(tmp_path / "nowhere")]) == 2
    assert "is neither a local folder" in capsys.readouterr().err
    assert main(["doctor", "--prompt", "{text}"]) == 2
    assert "--prompt was typed without --model" in capsys.readouterr().err


def test_without_the_library_it_says_what_to_type(folder, reviews, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "attest.models.pretrained.loading", None)
    said = refused(capsys, "--model", folder, "--data", reviews)
    assert "the library transformers is missing" in said
    assert said.endswith("-m pip install '.[transformers]' in the folder of the clone")


def test_a_trial_is_logged_to_wandb(folder, reviews, tmp_path, capsys):
    out = tmp_path / "out"
    assert tried("--model", folder, "--data", reviews, "--out", out, "E9", "LOGGER=wandb") == 0
    *_, left_out, logged, verdict = capsys.readouterr().out.splitlines()
    assert verdict.startswith("Verdict:    No answer. The model is not shown to be better than chance")
    assert "none of your texts" in left_out
    assert "--upload-texts" in left_out
    place = Path(logged.split()[-1])
    assert place.is_relative_to(out)
    assert not any("report" in path.name for path in (place / "files" / "media").rglob("*.html"))
    assert tried("--model", folder, "--data", reviews, "--out", out, "E9", "LOGGER=wandb", "--upload-texts") == 0
    said = capsys.readouterr().out
    assert "none of your texts" not in said
    (place,) = (Path(line.split()[-1]) for line in said.splitlines() if line.startswith("W&B:"))
    assert any("report" in path.name for path in (place / "files" / "media").rglob("*.html"))
    assert "LOGGER=csv is not known" in refused(capsys, "--model", folder, "--data", reviews, "LOGGER=csv")


@pytest.fixture(scope="module")
def speaker(tmp_path_factory):
    """A language model as save_pretrained leaves it."""
    place = tmp_path_factory.mktemp("speaker")
    tiny("llama", speaks=True).save_pretrained(place)
    speaking_tokenizer().save_pretrained(place)
    return place


def test_a_language_model_is_asked_by_a_prompt(speaker, reviews, tmp_path, capsys):
    asked = (
        "--model",
        speaker,
        "--data",
        reviews,
        "--prompt",
        r"Review: {text}\nSentiment:",
        "--labels",
        "bad= bad,good= good",
    )
    assert tried(*asked, "--out", tmp_path / "out", "E9", "E13") == 0
    assert "always answering “bad”" in capsys.readouterr().out
    table = pd.read_parquet(RunFolder(tmp_path / "out").evidence("instances"))
    assert {"probability_bad", "probability_good"} <= {*table.columns}
    assert list(table["tokens"][0])[-3:] == ["Ċ", "Sentiment", ":"]


@pytest.mark.parametrize(
    ("prompt", "labels"), [("Review:", "bad= bad,good= good"), ("{text}", "bad,good"), ("{text}", "poor= poor,good= good")]
)
def test_a_prompt_that_cannot_be_asked_is_refused_in_a_sentence(speaker, reviews, capsys, prompt, labels, snapshot):
    assert (
        without_places(refused(capsys, "--model", speaker, "--data", reviews, "--prompt", prompt, "--labels", labels))
        == snapshot
    )


def test_a_language_model_without_a_prompt_is_told_of_it(speaker, reviews, capsys, snapshot):
    assert without_places(refused(capsys, "--model", speaker, "--data", reviews)) == snapshot


def test_the_report_calls_it_by_its_own_class(folder, reviews, tmp_path):
    assert tried("--model", folder, "--data", reviews, "--out", tmp_path / "out", "E9") == 0
    assert "BertForSequenceClassification" in (tmp_path / "out" / "report.html").read_text()


def test_pairs_of_texts_are_found_by_the_names_of_their_columns(folder, tmp_path, capsys):
    file = tmp_path / "data.csv"
    file.write_text("id,text,text_pair,label\n1,a fine film,it is dull,good\n2,a dull film,it is fine,bad\n")
    assert tried("--model", folder, "--data", file, "--out", tmp_path / "pairs", "E2") == 0
    assert "pairs of texts and labels from the columns text, text_pair and label (guessed; " in capsys.readouterr().out
    table = attest.open_run(tmp_path / "pairs").table()
    assert list(table["tokens"][0])[:6] == ["[CLS]", "a", "fine", "film", "[SEP]", "[UNK]"]
    assert {"attention_within", "attention_between"} <= {*table}
    file.write_text("a,b,label\na fine film,it is dull,good\na dull film,it is fine,bad\n")
    named = ("--text-column", "a", "--second-column", "b")
    assert tried("--model", folder, "--data", file, *named, "--out", tmp_path / "named", "E2") == 0
    assert len(attest.open_run(tmp_path / "named").table()["tokens"][0]) == len(table["tokens"][0])
    assert "There is no column 'c'" in refused(
        capsys, "--model", folder, "--data", file, "--text-column", "a", "--second-column", "c"
    )


def test_several_labels_are_lists_or_have_commas_between(tmp_path, tokenizer, capsys):
    names = {"id2label": {0: "joy", 1: "anger", 2: "fear"}, "label2id": {"joy": 0, "anger": 1, "fear": 2}}
    tiny("bert", vocab_size=len(WORDS), problem_type="multi_label_classification", **names).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "data.csv").write_text('text,labels\na fine film,joy\na dull film,"anger, fear"\na film,\n')
    (tmp_path / "data.jsonl").write_text(
        '{"text": "a fine film", "labels": ["joy"]}\n{"text": "a dull film", "labels": ["anger", "fear"]}\n'
        '{"text": "a film", "labels": []}\n'
    )
    tables = []
    for name in ("data.csv", "data.jsonl"):
        assert tried("--model", tmp_path / "model", "--data", tmp_path / name, "--out", tmp_path / f"{name}.out", "E2") == 0
        tables.append(attest.open_run(tmp_path / f"{name}.out").table())
    assert tables[0].drop(columns=["tokens"]).to_json() == tables[1].drop(columns=["tokens"]).to_json()
    assert {(0, "joy", 1), (1, "anger", 1), (1, "fear", 1)} <= {*tables[0][["text", "asked", "label"]].itertuples(index=False)}


def test_a_reranker_takes_pairs_and_numbers(tmp_path, tokenizer, capsys, monkeypatch):
    tiny("bert", vocab_size=len(WORDS), num_labels=1).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = ["query,passage,grade", "a fine film,very fine,3.5", "a fine film,dull,-1", "a film,not a fine film,1e-1", "a,b,0"]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    columns = ("--text-column", "query", "--second-column", "passage", "--label-column", "grade")
    given = ("--model", tmp_path / "model", "--data", tmp_path / "data.csv", *columns)
    assert tried(*given, "--out", tmp_path / "out", "E2", "--texts", 3) == 0
    run = attest.open_run(tmp_path / "out")
    table = run.table()
    assert {*table["label"]} < {3.5, -1.0, 0.1, 0.0}
    assert {"attention_within", "prediction"} <= {*table}
    assert {"test/pearson", "number/deviation", "E2/moved_median/mean"} <= {*run.summary}
    assert "moves the prediction by" in capsys.readouterr().out
    assert "--labels names classes" in refused(capsys, *given, "--labels", "bad,good")
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["doctor", "--model", str(tmp_path / "model")]) == 0
    assert "one number of each text" in capsys.readouterr().out


def test_a_column_that_is_not_read_is_named(folder, tmp_path, capsys):
    (tmp_path / "data.csv").write_text(
        "id,text,text_pair,label\n1,a fine film,it is dull,good\n2,a dull film,it is fine,bad\n"
    )
    given = ("--model", folder, "--data", tmp_path / "data.csv", "--text-column", "text", "--out", tmp_path / "out", "E13")
    assert tried(*given) == 0
    assert "from the columns text and label (guessed; " in (said := capsys.readouterr().out)
    assert "Not read: id, text_pair." in said


def test_the_same_command_computes_a_trial_again_in_the_folder_of_its_model_and_data(folder, reviews, tmp_path, capsys):
    (tmp_path / "mine").symlink_to(folder)
    command = ["trial", "E2", "--model", "mine", "--data", str(reviews), "--processes", "1"]
    assert main(command) == 0
    made = tmp_path / "runs" / "trial" / "mine" / "reviews"
    assert f"Report:     {made.relative_to(tmp_path)}/report.html" in capsys.readouterr().out
    before = (made / "summary.json").read_bytes()
    (made / "evidence" / "E2.parquet").unlink()
    (made / ".trial.0.unfinished").mkdir()
    assert main([*command, "--json"]) == 0
    assert (made / "summary.json").read_bytes() == before
    assert (made / "evidence" / "E2.parquet").is_file()
    assert not list(made.glob(".*")), "what a killed trial left is gone"
    capsys.readouterr()

    assert main([*command, "--texts", "2"]) == 2
    said = capsys.readouterr().err
    assert "contains a trial that was made by another command (different: --texts); expected the same command" in said
    assert main([*command, "--label-column", "none", "--texts", "2"]) == 2
    assert "contains a trial" not in capsys.readouterr().err, "other mistakes are told first"
    (made / "run.json").unlink()
    (made / UNFINISHED).touch()  # killed while it was put there
    assert main([*command, "--texts", "2"]) == 0
    assert len(pd.read_parquet(made / "evidence" / "E2.parquet")) == 2
    assert main([*command, "FORCE=1"]) == 0
    assert len(pd.read_parquet(made / "evidence" / "E2.parquet")) > 2


def test_a_trial_that_fails_leaves_the_trial_that_was_there(folder, reviews, tmp_path, capsys):
    command = ["trial", "E2", "--model", str(folder), "--data", str(reviews), "--processes", "1", "--out", "out"]
    assert main(command) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert main([*command, "--reading", "nonsense", "FORCE=1"]) == 2
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("model", "data", "name"),
    [
        ("models/minilm-sst", "data/reviews.csv", "minilm-sst/reviews"),
        ("owner/name", "owner/data set", "name/data-set"),
        (".", "sst", "work/sst"),
        ("models/..", "", "model/data"),
        ("/", "/", "model/data"),
    ],
)
def test_the_default_folder_is_named_by_model_and_data(model, data, name, tmp_path, monkeypatch):
    (tmp_path / "here" / "work").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "work")
    assert default_folder(model, data).as_posix() == f"runs/trial/{name}"


def test_more_texts_can_be_read_for_a_verdict(folder, reviews, tmp_path, capsys):
    given = ("--model", folder, "--data", reviews, "--processes", 1)
    assert tried(*given, "--verdict-texts", 3, "--out", tmp_path / "out") == 0
    run = RunFolder(tmp_path / "out")
    assert int(pd.read_parquet(run.evidence("E19"))["needs_words"].notna().sum()) == 3
    assert run.evidence("E1").is_file()
    capsys.readouterr()
    assert tried(*given, "--verdict-texts", 3, "--out", tmp_path / "other", "E1") == 2
    assert "E19, on which the verdict rests, was not named" in capsys.readouterr().err
    assert tried(*given, "--verdict-texts", 0, "--out", tmp_path / "other") == 2
    assert "--verdict-texts 0 was typed" in capsys.readouterr().err
