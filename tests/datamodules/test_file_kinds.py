"""Files as other programs write them: what they mean is read, or a sentence says why not."""

import csv
import json
import tracemalloc
import unicodedata
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attest.core.errors import AttestError
from attest.datamodules import FilesDataModule
from attest.datamodules.labelled import OF_TEXTS, labelled
from attest.datamodules.rows import READERS, read_rows

TEXTS = [f"film {number}" for number in range(20)]
LABELS = ["pos", "neg"] * 10


def written(path, content, encoding="utf-8"):
    path.write_bytes(content.encode(encoding))
    return str(path)


def table(texts=TEXTS, labels=LABELS, between=",", end="\n"):
    return end.join(f"{text}{between}{label}" for text, label in [("text", "label"), *zip(texts, labels, strict=True)]) + end


def read(path, **options):
    return labelled(str(path), "test", 10_000, replace(OF_TEXTS, **options))


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL])
def test_a_tsv_with_quoted_cells_holds_the_texts_of_the_same_csv(tmp_path, quoting, capsys):
    texts = ['she said "great" to me', "two\nlines", "a\ttab", '"all of it"', '"', *TEXTS[5:]]
    frame = pd.DataFrame({"text": texts, "label": LABELS})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", sep="\t", index=False, quoting=quoting)
    assert read(tmp_path / "a.tsv").texts == read(tmp_path / "a.csv").texts == texts
    assert "a.tsv: quotation marks around cells are left out" in capsys.readouterr().out


@pytest.mark.parametrize("odd", ['"great" he said', 'he said "great"', 'a 5" screen', '"', 'so "', '"never closed'])
def test_a_tsv_with_quotation_marks_in_its_texts_keeps_them(tmp_path, odd, capsys):
    texts = [odd, '"whole"', *TEXTS[2:]]
    assert read(written(tmp_path / "a.tsv", table(texts, between="\t"))).texts == texts
    assert "quotation marks" not in capsys.readouterr().out


def test_labels_that_look_alike_are_one_class(tmp_path):
    composed, zero = "caf\u00e9", "\u200b"
    labels = [composed, unicodedata.normalize("NFD", composed), f"bar{zero}", "\ufeffbar", "bar\u00a0", "bar"]
    assert set(read(written(tmp_path / "a.csv", table(TEXTS[:6], labels))).labels) == {composed, "bar"}
    family = "\U0001f469\u200d\U0001f4bb"
    assert read(written(tmp_path / "b.csv", table(TEXTS[:2], [family, "x"]))).labels[0] == family, "joined emoji stay whole"


def test_the_names_of_columns_are_those_of_all_objects(tmp_path, refusal):
    rows = [{"text": "no label here"}, *({"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True))]
    with refusal():
        read(written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))))


@pytest.mark.parametrize("labels", [[[2, 3], [1]], [["a"], ["b", "c"]]])
def test_several_labels_a_text_are_named_as_that(tmp_path, labels, refusal):
    rows = [{"text": f"the film number {number} is fine", "labels": labels[number % 2]} for number in range(20)]
    path = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [*rows, {"text": "thanks", "labels": [1]}])))
    with refusal():
        _ = FilesDataModule(train=path, test=written(tmp_path / "b.csv", table())).corpus
    with refusal():
        read(path)


def test_names_that_stand_twice_are_refused(tmp_path, refusal):
    twice = '{"text": "a", "text": "b", "label": "pos"}\n'
    good = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(TEXTS, LABELS, strict=True))
    with refusal():
        read(written(tmp_path / "a.jsonl", good + twice))
    pq.write_table(pa.table([["a", "b"], ["x", "y"], ["c", "d"]], names=["text", "label", "text"]), tmp_path / "a.parquet")
    with refusal():
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("text", [" \t ", "\u200b", "\ufeff \u00ad", "\u3000"])
def test_a_text_that_shows_nothing_is_missing(tmp_path, text, refusal):
    with refusal():
        read(written(tmp_path / "a.csv", table([text, *TEXTS[1:]])))


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([{"text": "a", "label": 0}]),
        "not json\n" * 3,
    ],
)
def test_a_trial_refuses_a_file_without_a_good_row_as_training_does(tmp_path, content, refusal):
    with refusal():
        read(written(tmp_path / "a.jsonl", content))


def test_a_trial_is_told_of_its_own_options(tmp_path, capsys, refusal):
    odd = written(tmp_path / "odd.csv", "a,b,c\nx,y,z\nu,v,w\n")
    with refusal():
        read(odd)
    assert read(odd, text_column="a", label_column="c").labels == ["z", "w"]
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "cp1252"):
        coded = written(tmp_path / "coded.csv", table([f"“{text}”" for text in TEXTS]), encoding)
        marked = encoding == "utf-16"  # its first bytes say so
        said = "Type --encoding=utf-16" if marked else "for example latin-1, cp1252 or utf-16: add --encoding=latin-1"
        with pytest.raises(AttestError, match=said):
            read(coded)
        assert read(coded, encoding=encoding).labels == LABELS
    bad = written(tmp_path / "bad.csv", table(labels=["", *LABELS[1:]]))
    with refusal():
        read(bad)
    capsys.readouterr()
    assert read(bad, on_bad_rows="skip").texts == TEXTS[1:]
    said = capsys.readouterr().out
    assert "texts and labels from the columns text and label (guessed; name the columns with --text-column=" in said
    assert "bad.csv has bad rows (1 of 20): missing label (line 2)" in said
    with pytest.raises(AttestError, match=r"--data\.init_args\.text_column=<column>"):
        _ = FilesDataModule(train=odd, test=bad).corpus


def test_columns_that_are_not_read_are_named(tmp_path, capsys):
    read(written(tmp_path / "a.csv", "text,author,label\na,b,c\nd,e,f\n"))
    assert "Not read: author." in capsys.readouterr().out


def test_the_exact_name_of_a_column_comes_before_others_in_capitals(tmp_path):
    assert read(written(tmp_path / "a.csv", "text,Text,label\na,b,c\nd,e,f\n")).texts == ["a", "d"]


def test_texts_without_a_word_that_training_knows_are_counted(tmp_path, capsys):
    train = written(tmp_path / "train.csv", table())
    test = written(tmp_path / "test.csv", table(["xx yy", "film of xx", "zz"], ["pos", "neg", "pos"]))
    _ = FilesDataModule(train=train, test=test).corpus
    said = capsys.readouterr().out
    assert "2 of the 3 texts of the test split have no word of the vocabulary." in said
    assert "of the train split have no word" not in said


@pytest.mark.parametrize("source", ["", "photos"])
def test_a_name_of_nothing_and_a_folder_without_data_are_named(source, tmp_path, monkeypatch, refusal):
    """Both were taken for a data set of the Hub."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos" / "of").mkdir(parents=True)
    (tmp_path / "photos" / "of" / "a.png").touch()
    monkeypatch.setattr("attest.datamodules.rows.load_hub_split", lambda *_, **__: pytest.fail("asked the Hub"))
    with refusal():
        read_rows(source, "test")


@pytest.mark.parametrize("kind", sorted(READERS))
def test_rows_are_not_kept_before_a_few_are_drawn(kind, tmp_path, monkeypatch):
    """Reading takes a tenth of the memory of the texts, however many rows there are."""
    monkeypatch.setattr("attest.datamodules.rows.ROWS_AT_ONCE", 10)
    frame = pd.DataFrame({"text": [f"{number} {'long ' * 400}" for number in range(600)], "label": ["pos", "neg"] * 300})
    path = tmp_path / f"a{kind}"
    if kind == ".parquet":
        frame.to_parquet(path)
    elif kind.endswith("sv"):
        frame.to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    else:
        frame.to_json(path, orient="records", lines=True)
    tracemalloc.start()
    try:
        found = labelled(str(path), "test", 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.texts == [f"{text.split()[0]} {'long ' * 400}" for text in found.texts]
    assert found.of == 600
    assert peak < 0.1 * frame["text"].str.len().sum()


def test_of_parquet_only_the_columns_that_are_asked_for_are_read(tmp_path):
    pq.write_table(pa.table({"text": TEXTS, "label": LABELS, "vector": [[1.0] * 9] * 20}), tmp_path / "a.parquet")
    rows = read_rows(str(tmp_path / "a.parquet"), "test")
    assert (len(rows), rows.names) == (20, ["text", "label", "vector"])
    assert [row.cells for row in rows.of(["label"])] == [{"label": label} for label in LABELS]
    assert len(next(iter(rows)).cells) == 3


def test_bad_rows_stay_bad_rows_when_texts_are_read_later(tmp_path):
    path = written(tmp_path / "a.csv", "text,label\na,x\n,x\nb,y\nc\nd,x\n")
    read_again = read(path, on_bad_rows="skip")
    assert (read_again.texts, read_again.labels) == (["a", "b", "d"], ["x", "y", "x"])
