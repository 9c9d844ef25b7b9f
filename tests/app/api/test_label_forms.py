"""One truth is the same classes, whatever form its labels have and whatever carries them; else a sentence refuses it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import Dataset
from torch.utils.data import DataLoader, Subset

import attest
from attest.app.api.given import given
from attest.core.errors import AttestError
from attest.core.label_sets import label_sets
from attest.core.labels import class_numbers
from attest.datamodules.forms import Form, Several, Tags
from attest.datamodules.labelled import OF_TEXTS, labelled
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

CLASSES = [1, 0, 0, 1, 1]
GOOD = ("bad", "good")
TRUE_FIRST = ("true", "false")
"""Class 0 is true: a truth value is not its number."""
FEELINGS = ("joy", "anger", "fear")
SETS = [[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 1, 0]]
NUMBERS = [[place for place, there in enumerate(row) if there] for row in SETS]
NAMED = [[FEELINGS[number] for number in row] for row in NUMBERS]

ONE_CLASS = {
    "numbers": (GOOD, CLASSES),
    "floats": (GOOD, [float(number) for number in CLASSES]),
    "truth values": (GOOD, [bool(number) for number in CLASSES]),
    "names": (GOOD, [GOOD[number] for number in CLASSES]),
    "capitals and blanks": (GOOD, [f" {GOOD[number].upper()} " for number in CLASSES]),
    "numbers as text": (GOOD, [str(number) for number in CLASSES]),
    "floats as text": (GOOD, [f"{number}.0" for number in CLASSES]),
    "truth values as text": (GOOD, [str(bool(number)) for number in CLASSES]),
    "truth values of classes called so": (TRUE_FIRST, [number == 0 for number in CLASSES]),
    "the same as text": (TRUE_FIRST, ["TRUE" if number == 0 else "FALSE" for number in CLASSES]),
    "zero width": (GOOD, [f"{GOOD[number]}\u200b" for number in CLASSES]),
    "floats of classes called by numbers": (("1.0", "0.0"), [f"{1 - number}" for number in CLASSES]),
}
SEVERAL = {
    "lists of names": NAMED,
    "lists of numbers": NUMBERS,
    "rows of 0 and 1": SETS,
    "rows of floats": [[float(each) for each in row] for row in SETS],
    "rows of truth values": [[bool(each) for each in row] for row in SETS],
    "names with commas": [", ".join(row) for row in NAMED],
    "numbers with commas": [",".join(map(str, row)) for row in NUMBERS],
    "lists as Python writes them": [str(row) for row in NAMED],
    "lists as JSON": [json.dumps(row) for row in NAMED],
    "lists of numbers as text": [str(row) for row in NUMBERS],
    "arrays of names as numpy writes them": [str(np.array(row)) for row in NAMED],
    "rows as numpy writes them": [str(np.array(row, dtype=float)) for row in SETS],
    "rows as text": [str(row) for row in SETS],
    "rows of truth values as text": [str([bool(each) for each in row]) for row in SETS],
}
IN_PYTHON = {
    "a list": lambda labels: (TEXTS, labels),
    "a tuple": lambda labels: (TEXTS, tuple(labels)),
    "an array": lambda labels: (TEXTS, as_array(labels)),
    "a tensor": lambda labels: (TEXTS, torch.tensor(labels)),
    "a sparse tensor": lambda labels: (TEXTS, torch.tensor(labels).to_sparse()),
    "a list of tensors": lambda labels: (TEXTS, [torch.tensor(label) for label in labels]),
    "a Series": lambda labels: (TEXTS, pd.Series(labels, index=[4, 1, 0, 3, 2])),
    "a column of Arrow": lambda labels: (TEXTS, pa.chunked_array([pa.array(labels)])),
    "a DataFrame": lambda labels: (pd.DataFrame({"text": TEXTS, "label": labels}, index=[4, 1, 0, 3, 2]), None),
    "columns": lambda labels: ({"text": TEXTS, "label": labels}, None),
    "rows": lambda labels: ([{"text": text, "label": label} for text, label in zip(TEXTS, labels, strict=True)], None),
    "a table of Arrow": lambda labels: (pa.table({"text": TEXTS, "label": labels}), None),
    "a Dataset": lambda labels: (Dataset.from_dict({"text": TEXTS, "label": labels}), None),
    "label_ids": lambda labels: (Dataset.from_dict({"text": TEXTS, "label_ids": labels}), None),
    "a Dataset of tensors": lambda labels: (Dataset.from_dict({"text": TEXTS, "label": labels}).with_format("torch"), None),
    "a Dataset of arrays": lambda labels: (Dataset.from_dict({"text": TEXTS, "label": labels}).with_format("numpy"), None),
    "a Dataset of Series": lambda labels: (Dataset.from_dict({"text": TEXTS, "label": labels}).with_format("pandas"), None),
    "a format with columns": lambda labels: (
        Dataset.from_dict({"n": [*range(5)], "text": TEXTS, "label": labels}).with_format("torch", columns=["label", "text"]),
        None,
    ),
    "a stream": lambda labels: (Dataset.from_dict({"text": TEXTS, "label": labels}).to_iterable_dataset(), None),
    "a Subset": lambda labels: (Subset(Dataset.from_dict({"text": TEXTS, "label": labels}), range(5)), None),
}
IN_FILES = {
    "CSV": lambda frame, path: frame.to_csv(path / "a.csv", index=False),
    "TSV": lambda frame, path: frame.to_csv(path / "a.tsv", index=False, sep="\t"),
    "JSONL": lambda frame, path: frame.to_json(path / "a.jsonl", orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path / "a.parquet"),
}


def as_array(labels):
    try:
        return np.array(labels)
    except ValueError:  # lists of different lengths
        return np.array(labels, dtype=object)


def classes_read(data, labels, names):
    """As a trial reads them."""
    return class_numbers(given(data, labels).labels_for(names), (5,), names).tolist()


def sets_read(data, labels):
    return label_sets(given(data, labels).labels_for(FEELINGS, several=True), 5, FEELINGS).astype(int).tolist()


def file_read(carrier, frame, folder, names, several=False):
    """As the command reads a file and hands it on."""
    IN_FILES[carrier](frame, folder)
    (path,) = folder.iterdir()
    read = labelled(str(path), "test", 9, replace(OF_TEXTS, form=Several(names) if several else Form()))
    assert read.texts == TEXTS
    return read.called(names, "")


def tensors(labels):
    """Whether torch can hold these labels."""
    try:
        return len({torch.tensor(label).shape for label in labels}) == 1
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize("form", ONE_CLASS)
def test_one_class_a_text_is_the_same_in_every_form_and_by_every_way(form, tmp_path):
    names, labels = ONE_CLASS[form]
    ways = [way for way in IN_PYTHON if not way.endswith(("tensor", "tensors")) or tensors(labels)]
    found = {way: classes_read(*IN_PYTHON[way](labels), names) for way in ways}
    for carrier in IN_FILES:
        (folder := tmp_path / carrier).mkdir()
        called = file_read(carrier, pd.DataFrame({"text": TEXTS, "label": labels}), folder, names)
        found[carrier] = class_numbers(called, (5,), names).tolist()
    assert found == dict.fromkeys(found, CLASSES)


@pytest.mark.parametrize("form", SEVERAL)
def test_several_labels_a_text_are_the_same_in_every_form_and_by_every_way(form, tmp_path):
    labels = SEVERAL[form]
    ways = [way for way in IN_PYTHON if not way.endswith(("tensor", "tensors")) or tensors(labels)]
    found = {way: sets_read(*IN_PYTHON[way](labels)) for way in ways}
    for carrier in IN_FILES:
        (folder := tmp_path / carrier).mkdir()
        called = file_read(carrier, pd.DataFrame({"text": TEXTS, "label": labels}), folder, FEELINGS, several=True)
        found[carrier] = label_sets(called, 5, FEELINGS).astype(int).tolist()
    assert found == dict.fromkeys(found, SETS)


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_a_column_for_each_label_is_the_same_by_every_way(kind, tmp_path):
    frame = pd.DataFrame({"text": TEXTS} | {name.upper(): [kind(row[n]) for row in SETS] for n, name in enumerate(FEELINGS)})
    frame = frame[["FEAR", "text", "JOY", "ANGER"]]
    tables = [frame, frame.to_dict("list"), frame.to_dict("records"), pa.table(frame), Dataset.from_pandas(frame)]
    found = [sets_read(each, None) for each in (*tables, DataLoader(tables[-1], batch_size=2))]
    found.append(label_sets(frame[["FEAR", "JOY", "ANGER"]], 5, FEELINGS).astype(int).tolist())
    for carrier in IN_FILES:
        (folder := tmp_path / carrier).mkdir()
        called = file_read(carrier, frame, folder, FEELINGS, several=True)
        found.append(label_sets(called, 5, FEELINGS).astype(int).tolist())
    assert found == [SETS] * len(found)


def test_a_trial_decides_by_the_same_labels(tokenizer):
    """Of classes that are called as truth values, one and the same accuracy."""
    model = tiny("bert", vocab_size=len(WORDS), num_labels=2, id2label=dict(enumerate(TRUE_FIRST)))
    options = {"experiments": {"E2": {"permutations": 1}}, "tokenizer": tokenizer, "progress": False}
    found = attest.trial(model, TEXTS, labels=[number == 0 for number in CLASSES], **options).table()
    assert found["label"].tolist() == CLASSES


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([True, False], ("a", "b", "c")),
        ([True, False], ("true", "fake")),
        ([True, False], ("1", "0")),
        (["1_0", "0_1"], ("a", "b")),
        (["yes", "no"], ("a", "b")),
        ([np.datetime64("2020-01-01")] * 2, ("a", "b")),
        ([{"label": 1}, {"label": 0}], ("a", "b")),
        (["", "a"], ("a", "b")),
    ],
)
def test_what_is_no_class_is_refused(labels, names, refusal):
    with refusal():
        class_numbers(labels, (2,), names)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0, 1], FEELINGS),
        (["0", "1"], FEELINGS),
        ([["joy", ["fear"]], []], FEELINGS),
        ([{"joy": 1}, {"fear": 1}], FEELINGS),
        ([[0.2, 0.9, 0.1], [0.3, 0.1, 0.0]], FEELINGS),
        ([[True], [False]], FEELINGS),
        ([["joy", None], []], FEELINGS),
        ([[0], [0]], ("toxic",)),
        ("joy", FEELINGS),
        (pd.DataFrame({"joy": [0, 1], "anger": [0, 1]}), FEELINGS),
    ],
)
def test_what_are_no_labels_of_a_text_is_refused(labels, names, refusal):
    with refusal():
        label_sets(labels, 2, names)


def test_one_label_is_there_or_not():
    assert label_sets([[1], [0]], 2, ["toxic"]).tolist() == [[True], [False]]
    assert label_sets([0, 0], 2, ["toxic"]).tolist() == [[False], [False]]
    assert label_sets([["toxic"], []], 2, ["toxic"]).tolist() == [[True], [False]]
    assert label_sets(["joy, and fear", "joy"], 2, ["joy", "joy, and fear"]).tolist() == [[False, True], [True, False]]


PAIRED = [*zip(TEXTS, CLASSES, strict=True)]


@pytest.mark.parametrize(
    "data",
    [
        PAIRED,
        [(label, text) for text, label in PAIRED],
        dict(PAIRED),
        [(text, GOOD[label]) for text, label in PAIRED],
        DataLoader(PAIRED, batch_size=2),
        torch.utils.data.TensorDataset(torch.ones(2, 3), torch.ones(2)),
        [text.encode() for text in TEXTS],
        Dataset.from_dict({"text": TEXTS, "label": CLASSES}).with_format("torch", columns=["label"]),
        pd.DataFrame({1: TEXTS, "1": CLASSES}),
        3,
    ],
)
def test_texts_with_their_labels_in_another_form_are_told_how_to_give_them(data, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, data, ["E2"], tokenizer=tokenizer, progress=False)


def test_a_cell_of_several_labels_that_is_none_is_a_bad_row(tmp_path):
    rows = [{"text": text, "labels": ["joy"]} for text in TEXTS[:4]]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"text": "x", "labels": {"joy": 1}}])))
    with pytest.raises(AttestError, match=r"bad rows \(1 of 5\): lists or objects among the labels \(line 5\)"):
        labelled(str(tmp_path / "a.jsonl"), "test", 9, replace(OF_TEXTS, form=Several(FEELINGS)))


def test_words_and_tags_that_a_table_wrote_as_text_are_lists(tmp_path):
    words, tags = (
        [["It", "'s", "[ sic ]", "café", 'a "5\\\\8', "\U0001f600"], ["a", "film"]],
        [["O", "B-NP", *"OOOO"], ["B-NP", "I-NP"]],
    )
    frame = pd.DataFrame({"tokens": words, "tags": tags})
    frame.to_csv(tmp_path / "a.csv", index=False)
    pq.write_table(pa.table({"tokens": words, "tags": tags}), tmp_path / "a.parquet")
    frame.map(json.dumps).to_csv(tmp_path / "b.csv", index=False)
    for name in ("a.csv", "b.csv", "a.parquet"):
        read = labelled(str(tmp_path / name), "test", 9, replace(OF_TEXTS, form=Tags()))
        assert (read.texts, read.labels) == (words, tags)
