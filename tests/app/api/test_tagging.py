"""A classifier of tokens on trial: words with a tag each in, a table of tagged sentences out."""

import json

import datasets
import numpy as np
import pandas as pd
import pytest
import torch

import attest
from attest.app.cli.main import main
from attest.core.kinds import TAGS as OF_WORDS
from attest.experiments.sampling import sample_of_ids
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder
from attest.runs.kinds import kind_before, kind_in
from tests.models.pretrained.tiny import WORDS, batch, tiny

TAGS = ["O", "B-NP", "I-NP"]
SENTENCES = [["a", "fine", "film"], ["very", "dully", "film", "."], ["film"], ["not", "a", "film"]]
GOLD = [[1, 2, 2], [0, 1, 2, 0], [1], [0, 1, 2]]
QUICK = {
    "E2": {"permutations": 2},
    "E3": {"steps": 2, "texts": 2},
    "E8": {},
    "E9": {"draws": 2},
    "E13": {},
    "E14": {"texts": 3, "sets": 2},
}


@pytest.fixture(scope="module")
def model():
    names = dict(enumerate(TAGS))
    return tiny("bert", tokens=True, vocab_size=len(WORDS), id2label=names, label2id={tag: n for n, tag in names.items()})


@pytest.fixture(scope="module")
def tried(model, tokenizer):
    return attest.trial(model, SENTENCES, QUICK, tokenizer=tokenizer, labels=GOLD, batch_size=2)


@torch.no_grad()
def test_the_first_subword_of_a_word_decides_it(tried, model, tokenizer):
    table = tried.table("tagged")
    assert table["id"].tolist() == [0, 1, 2, 3]
    assert list(table["tokens"][1]) == ["[CLS]", "very", "dull", "##y", "film", ".", "[SEP]"]
    assert list(table["tags"][1]) == [-100, 0, 1, -100, 2, 0, -100]
    right, words = 0, 0
    for sentence, gold in zip(SENTENCES, GOLD, strict=True):
        read = tokenizer(sentence, is_split_into_words=True, return_tensors="pt")
        decided = model(**read).logits[0].argmax(dim=-1)
        first = [read.word_ids().index(word) for word in range(len(sentence))]
        right, words = right + int((decided[first] == torch.tensor(gold)).sum()), words + len(gold)
    assert tried.summary["test/accuracy"] == pytest.approx(right / words)
    assert 0 < right < words, "or all could be wrong alike"


def test_every_experiment_inside_the_layers_counts_words_alone(tried):
    assert {"tagged", *QUICK} == set(tried.experiments)
    table = tried.table("tagged")
    rightly = [
        np.mean((gold == decided)[gold >= 0]) for gold, decided in zip(table["tags"], table["predicted_tags"], strict=True)
    ]
    assert tried.table("E8")["correct"].to_numpy() == pytest.approx(np.array(rightly))
    assert tried.table("E8")["correct_softmax"].to_numpy() == pytest.approx(np.array(rightly)), "its own projection"
    assert "tvd_median_layer2" in tried.table("E2")
    assert tried.summary["test/chunk_f1"] >= 0


def test_of_a_sample_one_word_each_is_asked_what_its_tag_hangs_on(tried):
    table, words = tried.table("E14"), tried.table("tagged")["tags"]
    sampled = sample_of_ids(0, torch.arange(4), 3).tolist()
    defined = [row in sampled and len(words) > 1 for row, words in enumerate(SENTENCES)]
    assert table["win_comprehensiveness_mask"].notna().tolist() == defined, "[CLS] film [SEP] has no other word to erase"
    assert all(tags[place] >= 0 for tags, place in zip(words, table["token"], strict=True))


@pytest.mark.usefixtures("one_thread")
def test_batches_and_processes_change_nothing(tried, model, tokenizer):
    options = {"tokenizer": tokenizer, "labels": GOLD}
    for other in (options | {"batch_size": 4}, options | {"batch_size": 2, "processes": 2}):
        again = attest.trial(model, SENTENCES, {"E9": {"draws": 2}}, **other)
        pd.testing.assert_frame_equal(again.table("E9"), tried.table("E9"), atol=1e-6)


def test_the_report_and_a_saved_folder(tried, tmp_path):
    assert "on 4 texts" in tried.name
    kept = tried.save(tmp_path / "kept")
    page = kept.folder.report.read_text()
    assert "BertForTokenClassification" in page
    assert "of the tokens of 4 test sentences" in page


def test_a_command_tries_words_with_a_tag_each(model, tokenizer, corpora, tmp_path, capsys, monkeypatch):
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = [{"tokens": words, "tags": [TAGS[tag] for tag in tags]} for words, tags in zip(SENTENCES, GOLD, strict=True)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    command = ["trial", "--model", "model", "--data", "data.jsonl", "--out", "out", "--processes", "1"]
    assert main([*command, "E9", "E13"]) == 0
    said = capsys.readouterr().out
    assert "Texts:      all 4 in data.jsonl" in said
    assert RunFolder(tmp_path / "out").evidence("tagged").is_file()
    assert main([*command[:-3], "other", "E1"]) == 2
    assert "this model decides about each token" in capsys.readouterr().err
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["doctor", "--model", "model"]) == 0
    assert "E1, E10: they ask what a whole text's decision rests on" in " ".join(capsys.readouterr().out.split())
    assert main(["trial", "--model", "model", "--data", "sst", "--out", "other"]) == 2
    assert "expected one of: conll2000, or a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sentences", "labels"),
    [
        (["a fine film"], [[1, 2, 2]]),
        ([["a", "film"]], [[1]]),
        ([["a", "film"]], None),
        ([["a", "film"]], ["BI"]),
        ([["a", "film"]], [[0, 9]]),
        ([["a", "film"]], [["O", "B-VP"]]),
    ],
)
def test_what_is_no_tagged_sentence_is_refused(model, tokenizer, sentences, labels, refusal):
    with refusal():
        attest.trial(model, sentences, tokenizer=tokenizer, labels=labels)


def test_words_without_a_tag_stand_beside_names_and_in_data_sets(model, tokenizer):
    """-1, by which data sets mark what has no class, was read as the last class."""
    gold = [[-100, 2, 2], *GOLD[1:]]
    named = [[tag if tag == -100 else TAGS[tag] for tag in tags] for tags in gold]
    classes = datasets.Sequence(datasets.ClassLabel(names=TAGS))
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": classes})
    rows = {"tokens": SENTENCES, "ner_tags": [[max(tag, -1) for tag in tags] for tags in gold]}
    asked = {"E9": {"draws": 1}}
    expected = attest.trial(model, SENTENCES, asked, tokenizer=tokenizer, labels=gold).summary
    assert attest.trial(model, SENTENCES, asked, tokenizer=tokenizer, labels=named).summary == expected
    found = attest.trial(model, datasets.Dataset.from_dict(rows, features=features), asked, tokenizer=tokenizer).summary
    assert found == expected


def test_tags_by_name_are_the_same(tried, model, tokenizer):
    names = pd.Series([np.array([TAGS[tag] for tag in tags]) for tags in GOLD], index=[3, 1, 0, 2])
    again = attest.trial(model, map(np.array, SENTENCES), ("E13",), tokenizer=tokenizer, labels=names)
    assert [row.tolist() for row in again.table("tagged")["tags"]] == [row.tolist() for row in tried.table("tagged")["tags"]]


def test_a_model_of_the_library_reads_a_column_as_it_reads_a_list(tokenizer):
    texts, model = pd.Series(["a fine film", "very dully film"], index=[1, 0]), tiny("bert", vocab_size=len(WORDS))
    one, other = (
        attest.trial(model, given, ("E14",), tokenizer=tokenizer, progress=False).table() for given in (texts, texts.tolist())
    )
    pd.testing.assert_frame_equal(one, other)
    assert "special" in one


def test_words_that_the_tokenizer_drops_are_counted_and_their_chunks_begin_later(model, tokenizer, capsys):
    words = [["a", "\u00ad", "film", "."], ["\u00ad", "\u00ad", "dully", "film"], ["film", "\u00ad", "film"], ["a"]]
    gold = [[0, 1, 2, 0], [1, 2, 2, 2], [1, 2, 2], [1]]
    table = attest.trial(model, words, ("E13",), tokenizer=tokenizer, labels=gold, progress=False).table("tagged")
    assert [row[row >= 0].tolist() for row in table["tags"]] == [[0, 1, 0], [1, 2], [1, 2], [1]]
    assert "4 of 12 words have no subword" in capsys.readouterr().out
    attest.trial(model, [SENTENCES[0], ["a"] * 80], ("E13",), tokenizer=tokenizer, labels=[GOLD[0], [0] * 80], progress=False)
    assert "no subword" not in capsys.readouterr().out, "an end that is cut is another thing"


def test_batches_need_tags(model, refusal):
    tokens, mask = batch()
    with refusal():
        attest.trial(tiny("bert", tokens=True), [{"token_ids": tokens, "mask": mask}], progress=False)


def test_its_kind_stands_in_its_settings_and_an_older_folder_shows_it(tried):
    assert (kind_in(RunContents(tried.folder)), kind_before(RunContents(tried.folder))) == (OF_WORDS, OF_WORDS)
