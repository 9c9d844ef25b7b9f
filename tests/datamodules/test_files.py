"""The user's own data, good and bad, in every format."""

import csv
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from attest.datamodules import FilesDataModule
from attest.datamodules.rows import READERS, read_rows
from attest.errors import AttestError

TEXTS = [f"Text number {number} is {'good' if number % 2 else 'bad'}" for number in range(20)]
LABELS = ["pos" if number % 2 else "neg" for number in range(20)]


def rows(texts=TEXTS, labels=LABELS, text="text", label="label"):
    return [{text: a, label: b} for a, b in zip(texts, labels, strict=True)]


def write(path: Path, found: list[dict]) -> str:
    names = list(found[0])
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(found), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerows([names, *([row[name] for name in names] for row in found)])
    return str(path)


def module(tmp_path: Path, train: list[dict] | None = None, test: list[dict] | None = None, suffix=".jsonl", **options):
    files = {"train": train or rows(), "test": test or rows(TEXTS[:4], LABELS[:4])}
    paths = {split: write(tmp_path / f"{split}{suffix}", found) for split, found in files.items()}
    return FilesDataModule(**paths, **options)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_corpus(tmp_path, suffix):
    corpus = module(tmp_path, suffix=suffix).corpus
    assert corpus.label_names == ("neg", "pos")
    assert corpus.test.tokens[1] == ["text", "number", "1", "is", "good"]
    assert corpus.test.labels.tolist() == [0, 1, 0, 1]
    assert [len(corpus.train), len(corpus.validation)] == [18, 2]
    assert sorted([*corpus.train.ids, *corpus.validation.ids]) == list(range(20))


def test_the_validation_cut_is_stratified_and_follows_its_seed(tmp_path):
    labels = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    train = rows([f"text {n}" for n in range(100)], labels)
    options = {"validation_share": 0.2}
    first, again, other = (module(tmp_path, train, train[:1], split_seed=seed, **options).corpus for seed in (0, 0, 1))
    assert np.bincount(first.validation.labels).tolist() == [12, 6, 2]
    assert first.validation.ids.tolist() == again.validation.ids.tolist() != other.validation.ids.tolist()


def test_a_validation_file_is_taken_as_it_is(tmp_path):
    validation = write(tmp_path / "validation.csv", rows(TEXTS[:6], LABELS[:6]))
    corpus = module(tmp_path, validation=validation).corpus
    assert [len(corpus.train), len(corpus.validation)] == [20, 6]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([10, 9, 2] * 5, ("2", "9", "10")),
        ([1.0, 0.0, 1.0] * 5, ("0", "1")),
        ([True, False, True] * 5, ("False", "True")),
        (["b", "a", "ç d"] * 5, ("a", "b", "ç d")),
    ],
)
def test_any_number_of_classes_of_any_kind(tmp_path, labels, names):
    found = rows(TEXTS[:15], labels)
    corpus = module(tmp_path, found, found, validation_share=0.2).corpus
    assert corpus.label_names == names
    as_named = [corpus.label_names[label] for label in corpus.test.labels]
    assert as_named == [str(int(label)) if isinstance(label, float) else str(label) for label in labels]


@pytest.mark.parametrize(
    ("text", "label"), [("review", "stars"), ("Sentence", "CATEGORY"), ("anything", "whatever"), ("tokens", "label")]
)
def test_columns_are_guessed_and_printed(tmp_path, capsys, text, label):
    found = rows(text=text, label=label)
    assert module(tmp_path, found, found).corpus.test.labels.tolist() == [0, 1] * 10
    assert f"texts and labels from the columns {text} and {label} (guessed;" in capsys.readouterr().out


def test_columns_that_are_named_are_taken(tmp_path, capsys):
    found = [row | {"text": "not this"} for row in rows(text="mine", label="yours")]
    corpus = module(tmp_path, found, found, text_column="mine", label_column="yours").corpus
    assert corpus.test.tokens[0][:2] == ["text", "number"]
    assert "guessed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_column": "txt"}, r"There is no column txt; expected one of text, label\."),
        ({"label_column": "txt"}, r"There is no column txt; expected one of text, label\."),
    ],
)
def test_a_column_that_is_not_there_is_named(tmp_path, options, message):
    with pytest.raises(AttestError, match=message):
        _ = module(tmp_path, **options).corpus


def test_columns_that_cannot_be_guessed_are_asked_for(tmp_path):
    found = [{"a": "x", "b": "y", "c": "z"}] * 4
    with pytest.raises(AttestError, match=r"columns a, b, c; name the columns with --data\.init_args\.text_column="):
        _ = module(tmp_path, found, found).corpus


TAGGED = [{"tokens": ["He", "ran"], "tags": ["B-NP", "O"]}, {"tokens": ["Go"], "tags": ["O"]}] * 10


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv", ".tsv"])
def test_tagging_in_every_format(tmp_path, suffix):
    found = TAGGED
    if suffix in (".csv", ".tsv"):
        found = [{key: " ".join(value) for key, value in row.items()} for row in TAGGED]
    data = module(tmp_path, found, found, suffix=suffix)
    assert data.label_names == ("O", "B-NP")
    assert data.corpus.test.tokens[0] == ["He", "ran"]
    assert data.test.__getitems__([0, 1])["tags"].tolist() == [[1, 0], [0, -100]]


def test_words_that_are_given_are_taken_as_they_are(tmp_path):
    found = [{"text": ["Don't", "."], "label": number % 2} for number in range(20)]
    assert module(tmp_path, found, found).corpus.test.tokens[0] == ["Don't", "."]


BAD = {
    "missing text": ({"text": "", "label": "pos"}, {"text": None, "label": "pos"}, {"text": " \n", "label": "pos"}),
    "missing label": ({"text": "x", "label": ""}, {"text": "x", "label": None}, {"text": "x"}),
    "a list where a label belongs": ({"text": "x", "label": ["pos"]},),
    "half a character": ({"text": "\ud800", "label": "pos"}, {"text": "x", "label": "\udfff"}),
    "a list where a text belongs": ({"text": ["x"], "label": "pos"},),
}


@pytest.mark.parametrize(("problem", "bad"), [(problem, bad) for problem, found in BAD.items() for bad in found])
def test_a_bad_row_is_refused_with_its_place_or_skipped(tmp_path, capsys, problem, bad):
    found = [*rows(), bad]
    with pytest.raises(AttestError, match=rf"train\.jsonl has 1 bad row of 21: {problem} \(line 21\).*on_bad_rows=skip"):
        _ = module(tmp_path, found).corpus
    corpus = module(tmp_path, found, on_bad_rows="skip").corpus
    assert len(corpus.train) + len(corpus.validation) == 20
    assert "1 bad row of 21" in capsys.readouterr().out


def test_ids_count_the_rows_that_are_skipped(tmp_path):
    test = rows(["", "x", "", "y"], ["pos", "pos", "neg", "neg"])
    assert module(tmp_path, test=test, on_bad_rows="skip").corpus.test.ids.tolist() == [1, 3]


def test_a_label_that_training_does_not_know_is_bad(tmp_path):
    with pytest.raises(AttestError, match=r"test\.jsonl has 2 bad rows of 2: unknown label 'new' \(line 1, line 2\)"):
        _ = module(tmp_path, test=rows(["a", "b"], ["new", "new"])).corpus


def test_ragged_tags_are_bad(tmp_path):
    ragged = [*TAGGED, {"tokens": ["a", "b"], "tags": ["O"]}]
    with pytest.raises(AttestError, match=r"1 bad row of 21: 1 tags for 2 words \(line 21\)"):
        _ = module(tmp_path, ragged, TAGGED).corpus


def test_many_bad_rows_are_counted_and_some_shown(tmp_path):
    found = [*rows(), *[{"text": "", "label": "pos"}] * 8]
    with pytest.raises(AttestError, match=r"8 bad rows of 28: missing text \(line 21, .*, line 25 and 3 more\)"):
        _ = module(tmp_path, found).corpus


@pytest.mark.parametrize(
    ("suffix", "line", "problem"),
    [
        (".csv", b"caf\xe9,pos\n", "bytes that are no UTF-8"),
        (".tsv", b"caf\xe9\tpos\n", "bytes that are no UTF-8"),
        (".jsonl", b'{"text": "caf\xe9", "label": "pos"}\n', "bytes that are no UTF-8"),
        (".csv", b"a,b,c\n", "3 cells instead of 2"),
        (".tsv", b"alone\n", "1 cells instead of 2"),
        (".jsonl", b"{broken\n", "no JSON"),
        (".jsonl", b"[1, 2]\n", "no JSON object"),
        (".jsonl", b"[" * 100_000 + b"\n", "no JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_bad(tmp_path, suffix, line, problem):
    path = Path(write(tmp_path / f"train{suffix}", rows()))
    last = 22 if suffix != ".jsonl" else 21
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(AttestError, match=rf"1 bad row of 21: {problem} \(line {last}\)"):
        _ = FilesDataModule(train=str(path), test=str(path)).corpus


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b'text,label\n"open,pos\n', r"x\.csv line 2 is broken \(unexpected end of data\)"),
        ("x.csv", b'text,label\n"a"b,pos\n', r"x\.csv line 2 is broken"),
        ("x.parquet", b"no parquet", r"x\.parquet cannot be read as parquet"),
        ("x.xlsx", b"", r"x\.xlsx ends in \.xlsx; expected a file that ends in \.csv, \.tsv"),
        ("x", b"", r"ends in nothing; expected a file that ends in"),
        ("x.csv", b"", r"Neither texts nor labels can be told from the columns none"),
        ("x.csv", b"text,label\n", r"Neither texts nor labels can be told from the columns none"),
        ("x.csv", b"text,label\na,pos\nb,pos\n", r"x\.csv has one class only \(pos\); expected two classes or more"),
        ("x.csv", b"text,label\na,p\nb,p\nc,q\n", r"cannot be cut for validation with every class in both parts"),
    ],
)
def test_a_file_that_is_bad_as_a_whole_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AttestError, match=message):
        _ = FilesDataModule(train=str(path), test=str(path)).corpus


def test_text_in_parquet_that_is_no_utf8_is_refused(tmp_path):
    text = pa.StringArray.from_buffers(1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff"))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": text, "label": ["a"]}), path)
    with pytest.raises(AttestError, match=r"x\.parquet is broken inside .*; expected text in UTF-8"):
        read_rows(str(path), "train")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"DATA=files has no train file; .*Type: make train DATA=files ARGS="),
        ({"train": "a.csv"}, r"DATA=files has no test file"),
        ({"train": "datamodules/a", "test": "b.csv"}, r"There is no file datamodules/a; expected a file that ends in"),
        ({"train": "a.csv", "test": "b.csv"}, r"There is no file a\.csv; expected a file that ends in"),
        ({"train": "a.csv", "test": "b.csv", "validation_share": 1.5}, r"validation_share is 1\.5; expected a share between"),
    ],
)
def test_what_is_missing_is_named(options, message):
    with pytest.raises(AttestError, match=message):
        _ = FilesDataModule(**options).corpus


def test_a_dataset_of_the_hub_gives_its_classes_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    features = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    (tmp_path / "repository").mkdir()
    for split, labels in (("train", [0, 1] * 10), ("validation", [0, 1]), ("test", [1, 0])):
        dataset = Dataset.from_dict({"text": TEXTS[: len(labels)], "label": labels}, features=features)
        dataset.to_parquet(tmp_path / "repository" / f"{split}.parquet")
    repository = str(tmp_path / "repository")
    corpus = FilesDataModule(train=repository, validation=repository, test=repository).corpus
    assert corpus.label_names == ("bad", "good")
    assert corpus.test.labels.tolist() == [1, 0]


def test_a_folder_without_the_split_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    (tmp_path / "repository").mkdir()
    Dataset.from_dict({"text": ["a"], "label": ["b"]}).to_parquet(tmp_path / "repository" / "test.parquet")
    repository = str(tmp_path / "repository")
    with pytest.raises(AttestError, match=r"repository gives no train split \(Unknown split \"train\""):
        _ = FilesDataModule(train=repository, test=repository).corpus
    (tmp_path / "empty").mkdir()
    with pytest.raises(AttestError, match=r"empty gives no train split"):
        _ = FilesDataModule(train=str(tmp_path / "empty"), test=repository).corpus


def test_a_class_that_the_hub_withholds_is_a_missing_label(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    features = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    (tmp_path / "repository").mkdir()
    for split, labels in (("train", [0, 1] * 10), ("test", [-1, -1])):
        dataset = Dataset.from_dict({"text": TEXTS[: len(labels)], "label": labels}, features=features)
        dataset.to_parquet(tmp_path / "repository" / f"{split}.parquet")
    repository = str(tmp_path / "repository")
    with pytest.raises(AttestError, match=r"has 2 bad rows of 2: missing label \(row 0, row 1\)"):
        _ = FilesDataModule(train=repository, test=repository).corpus


def test_a_cell_may_be_longer_than_the_csv_module_allows(tmp_path):
    long = " ".join(["word"] * 40_000)
    found = rows([long, *TEXTS[1:]])
    path = write(tmp_path / "long.csv", found)
    assert read_rows(path, "train")[0].cells["text"] == long


def test_longer_texts_are_left_out_and_counted(tmp_path, capsys):
    test = rows(["one two three four", "one two"], ["pos", "neg"])
    train = rows(["a b", "a b", "c d e f", "c d e f"] * 5, LABELS)
    validation = write(tmp_path / "validation.csv", test)
    corpus = module(tmp_path, train, test, validation=validation, max_tokens=3).corpus
    assert corpus.test.tokens == [["one", "two"]]
    assert "max_tokens=3 leaves out 10 of 20 train, 1 of 2 validation, 1 of 2 test texts." in capsys.readouterr().out


def test_the_vocabulary_heeds_min_df_and_cap(tmp_path):
    assert module(tmp_path, min_df=5).corpus.vocabulary.words == ("bad", "good", "is", "number", "text")
    assert module(tmp_path, max_words=3).corpus.vocabulary.words == ("is", "number", "text")


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.text(st.characters(exclude_categories=[]), max_size=6),
    st.sampled_from(["a", "b"]),
    st.lists(st.one_of(st.text(max_size=3), st.none(), st.integers(0, 2)), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)
ROWS = st.lists(st.fixed_dictionaries({}, optional={"text": CELLS, "label": CELLS, "tags": CELLS}), min_size=1, max_size=12)


@settings(max_examples=150)
@given(found=ROWS, on_bad_rows=st.sampled_from(["refuse", "skip"]), tagging=st.sampled_from([None, True, False]))
def test_no_rows_whatever_make_more_than_a_readable_error(tmp_path_factory, found, on_bad_rows, tagging):
    path = write(tmp_path_factory.mktemp("fuzz") / "x.jsonl", found)
    with suppress(AttestError):
        corpus = FilesDataModule(path, path, path, on_bad_rows=on_bad_rows, tagging=tagging).corpus
        assert len(corpus.train) == len(corpus.test) > 0


@settings(max_examples=60)
@given(content=st.binary(max_size=200), suffix=st.sampled_from(sorted(READERS)))
def test_no_content_whatever_makes_more_than_a_readable_error(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("fuzz") / f"x{suffix}"
    path.write_bytes(content)
    with suppress(AttestError):
        assert all(row.place.split()[0] in ("line", "row") for row in read_rows(str(path), "train"))
