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

from attest.core.errors import AttestError
from attest.datamodules import FilesDataModule
from attest.datamodules.rows import READERS, read_rows

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


def good_test_file(folder: Path) -> str:
    """A test file that nothing is wrong with."""
    return write(folder / "tested.csv", rows(["a", "b"], ["pos", "neg"]))


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
    "options",
    [
        {"text_column": "txt"},
        {"label_column": "txt"},
    ],
)
def test_a_column_that_is_not_there_is_named(tmp_path, options, refusal):
    with refusal():
        _ = module(tmp_path, **options).corpus


def test_columns_that_cannot_be_guessed_are_asked_for(tmp_path, refusal):
    found = [{"a": "x", "b": "y", "c": "z"}] * 4
    with refusal():
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
    "a list instead of a label": ({"text": "x", "label": ["pos"]},),
    "half a character": ({"text": "\ud800", "label": "pos"}, {"text": "x", "label": "\udfff"}),
    "a list instead of a text": ({"text": ["x"], "label": "pos"},),
}


@pytest.mark.parametrize(("problem", "bad"), [(problem, bad) for problem, found in BAD.items() for bad in found])
def test_a_bad_row_is_refused_with_its_place_or_skipped(tmp_path, capsys, problem, bad):
    found = [*rows(), bad]
    with pytest.raises(AttestError, match=rf"train\.jsonl has bad rows \(1 of 21\): {problem} \(line 21\).*on_bad_rows=skip"):
        _ = module(tmp_path, found).corpus
    corpus = module(tmp_path, found, on_bad_rows="skip").corpus
    assert len(corpus.train) + len(corpus.validation) == 20
    assert "bad rows (1 of 21)" in capsys.readouterr().out


def test_ids_count_the_rows_that_are_skipped(tmp_path):
    test = rows(["", "x", "", "y"], ["pos", "pos", "neg", "neg"])
    assert module(tmp_path, test=test, on_bad_rows="skip").corpus.test.ids.tolist() == [1, 3]


def test_a_label_that_training_does_not_know_is_bad(tmp_path, refusal):
    with refusal():
        _ = module(tmp_path, test=rows(["a", "b"], ["new", "new"])).corpus


def test_ragged_tags_are_bad(tmp_path, refusal):
    ragged = [*TAGGED, {"tokens": ["a", "b"], "tags": ["O"]}]
    with refusal():
        _ = module(tmp_path, ragged, TAGGED).corpus


def test_many_bad_rows_are_counted_and_some_shown(tmp_path, refusal):
    found = [*rows(), *[{"text": "", "label": "pos"}] * 8]
    with refusal():
        _ = module(tmp_path, found).corpus


@pytest.mark.parametrize(
    ("suffix", "line", "problem"),
    [
        (".csv", b"caf\xe9,pos\n", "bytes that are not UTF-8"),
        (".tsv", b"caf\xe9\tpos\n", "bytes that are not UTF-8"),
        (".jsonl", b'{"text": "caf\xe9", "label": "pos"}\n', "bytes that are not UTF-8"),
        (".csv", b"a,b,c\n", "3 cells instead of 2"),
        (".tsv", b"alone\n", "1 cells instead of 2"),
        (".jsonl", b"{broken\n", "not JSON"),
        (".jsonl", b"[1, 2]\n", "not a JSON object"),
        (".jsonl", b"[" * 100_000 + b"\n", "not JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_bad(tmp_path, suffix, line, problem):
    path = Path(write(tmp_path / f"train{suffix}", rows()))
    last = 22 if suffix != ".jsonl" else 21
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(AttestError, match=rf"has bad rows \(1 of 21\): {problem} \(line {last}\)"):
        _ = FilesDataModule(train=str(path), test=good_test_file(tmp_path)).corpus


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'text,label\n"open,pos\n'),
        ("x.csv", b'text,label\n"a"b,pos\n'),
        ("x.parquet", b"no parquet"),
        ("x.xlsx", b""),
        ("x", b""),
        ("x.csv", b""),
        ("x.csv", b"text,label\n"),
        ("x.csv", b"text,label\na,pos\nb,pos\n"),
        ("x.csv", b"text,label\na,pos\nb,pos\nc,neg\n"),
    ],
)
def test_a_file_that_is_bad_as_a_whole_is_refused(tmp_path, name, content, refusal):
    path = tmp_path / name
    path.write_bytes(content)
    with refusal():
        _ = FilesDataModule(train=str(path), test=good_test_file(tmp_path)).corpus


def test_text_in_parquet_that_is_no_utf8_is_refused(tmp_path, refusal):
    text = pa.StringArray.from_buffers(1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff"))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": text, "label": ["a"]}), path)
    with refusal():
        list(read_rows(str(path), "train"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"train": "a.csv"},
        {"train": "datamodules/a", "test": "b.csv"},
        {"train": "a.csv", "test": "b.csv"},
        {"train": "a.csv", "test": "b.csv", "validation_share": 1.5},
    ],
)
def test_what_is_missing_is_named(options, refusal):
    with refusal():
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


def test_a_folder_without_the_split_says_so(tmp_path, monkeypatch, refusal):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    (tmp_path / "repository").mkdir()
    Dataset.from_dict({"text": ["a"], "label": ["b"]}).to_parquet(tmp_path / "repository" / "test.parquet")
    repository = str(tmp_path / "repository")
    with refusal():
        _ = FilesDataModule(train=repository, test=repository).corpus
    (tmp_path / "empty").mkdir()
    with refusal():
        _ = FilesDataModule(train=str(tmp_path / "empty"), test=repository).corpus


def test_a_class_that_the_hub_withholds_is_a_missing_label(tmp_path, monkeypatch, refusal):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    features = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    (tmp_path / "repository").mkdir()
    for split, labels in (("train", [0, 1] * 10), ("test", [-1, -1])):
        dataset = Dataset.from_dict({"text": TEXTS[: len(labels)], "label": labels}, features=features)
        dataset.to_parquet(tmp_path / "repository" / f"{split}.parquet")
    repository = str(tmp_path / "repository")
    with refusal():
        _ = FilesDataModule(train=repository, test=repository).corpus


def test_a_cell_may_be_longer_than_the_csv_module_allows(tmp_path):
    long = " ".join(["word"] * 40_000)
    found = rows([long, *TEXTS[1:]])
    path = write(tmp_path / "long.csv", found)
    assert next(iter(read_rows(path, "train"))).cells["text"] == long


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


def raw(folder: Path, content: str | bytes, name="raw.csv", test: str | None = None, **options) -> FilesDataModule:
    """A training file of these very bytes, and a good test file."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return FilesDataModule(train=str(path), test=test or good_test_file(folder), **options)


def as_text(separator=",", texts=TEXTS, header="text,label", end="\n") -> str:
    lines = [header.replace(",", separator), *(f"{a}{separator}{b}" for a, b in zip(texts, LABELS, strict=True))]
    return "".join(f"{line}{end}" for line in lines)


ACCENTED = [f"{text} caf\N{LATIN SMALL LETTER E WITH ACUTE}" for text in TEXTS]


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_another_encoding_is_named_and_can_be_read(tmp_path, name):
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(ACCENTED))
    content = (as_text(texts=ACCENTED) if name == "x.csv" else lines).encode("latin-1")
    with pytest.raises(AttestError, match=r"bytes that are not UTF-8 .* add --data\.init_args\.encoding=latin-1"):
        _ = raw(tmp_path, content, name).corpus
    read = read_rows(raw(tmp_path, content, name).sources["train"], "train", "latin-1")
    assert [row.cells["text"] for row in read] == ACCENTED


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_utf_16_is_refused_as_another_encoding_and_can_be_read(tmp_path, name, refusal):
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    content = (as_text() if name == "x.csv" else lines).encode("utf-16")
    for encoding in ("utf-8", "latin-1"):
        with refusal():
            _ = raw(tmp_path, content, name, encoding=encoding).corpus
    assert len(read_rows(raw(tmp_path, content, name).sources["train"], "train", "utf-16")) == 20


def test_utf_32_is_not_taken_for_utf_16_whose_mark_begins_the_same(tmp_path):
    data = raw(tmp_path, as_text().encode("utf-32"), "x.csv", encoding="utf-16")
    with pytest.raises(AttestError, match=r"is in UTF-32, .* expected UTF-16\. Type .*=utf-32$"):
        _ = data.corpus
    assert len(read_rows(data.sources["train"], "train", "utf-32")) == 20


@pytest.mark.parametrize("begin", [b"\x1f\x8b\x08\x00", b"PK\x03\x04"])
def test_a_packed_file_that_is_called_as_text_is_refused(tmp_path, begin, refusal):
    with refusal():
        _ = raw(tmp_path, begin + bytes(range(256))).corpus


def test_an_encoding_that_nobody_knows_is_refused(tmp_path, refusal):
    with refusal():
        _ = raw(tmp_path, as_text(), encoding="latin-99").corpus


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_of_csv_are_recognised_and_said(tmp_path, capsys, separator):
    corpus = raw(tmp_path, as_text(separator, [f"{text}, truly" for text in TEXTS])).corpus
    assert corpus.train.tokens[0][-2:] == [",", "truly"]
    assert f"raw.csv: cells are separated by {separator!r}, not by ','." in capsys.readouterr().out


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_first_line_that_tells_excel_the_separator_is_no_header(tmp_path, separator):
    texts = [f"{text} | truly" for text in TEXTS]
    plain = raw(tmp_path, as_text(separator, texts)).corpus.train.tokens
    assert raw(tmp_path, f"sep={separator}\r\n" + as_text(separator, texts)).corpus.train.tokens == plain


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_ends_of_lines_and_blanks_around_names_are_no_content(tmp_path, end):
    plain = raw(tmp_path, as_text()).corpus
    marked = raw(tmp_path, "\ufeff" + end + as_text(header=" text , label", end=end)).corpus
    assert marked.train.tokens == plain.train.tokens


@pytest.mark.parametrize(
    "content",
    [
        "a gorgeous film,pos\ndull,neg\nfine,pos\n",
        "a gorgeous film,1\ndull,0\nfine,0\n",
        "0,a gorgeous film,pos\n1,dull,neg\n2,fine,pos\n",
    ],
)
def test_a_first_review_in_place_of_the_header_is_noticed(tmp_path, content, refusal):
    with refusal():
        _ = raw(tmp_path, content).corpus


def test_names_that_look_like_cells_can_be_insisted_on(tmp_path):
    content = as_text(header="1,2")
    test = write(tmp_path / "test.csv", rows(["a", "b"], ["pos", "neg"], text="1", label="2"))
    assert len(raw(tmp_path, content, test=test, text_column="1", label_column="2").corpus.test) == 2


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_test_file_with_other_columns_is_told_which(tmp_path, suffix):
    test = rows(["a"], ["pos"], text="review", label="stars")
    with pytest.raises(
        AttestError,
        match=rf"test\{suffix} has no column 'text' \(its columns: review, stars\); expected the columns 'text' and 'label'",
    ):
        _ = module(tmp_path, test=test, suffix=suffix).corpus


@pytest.mark.parametrize("test", ["text,label\n", "text,label\n,pos\n", ""])
def test_a_test_file_without_texts_is_refused(tmp_path, test, refusal):
    path = tmp_path / "test.csv"
    path.write_text(test)
    with refusal():
        _ = raw(tmp_path, as_text(), test=str(path), on_bad_rows="skip").corpus


@pytest.mark.parametrize("linked", [False, True])
def test_one_file_cannot_be_trained_and_tested_on(tmp_path, linked, refusal):
    path = write(tmp_path / "train.csv", rows())
    other = tmp_path / "other.csv"
    if linked:
        other.symlink_to(path)
    with refusal():
        _ = FilesDataModule(train=path, test=str(other) if linked else path).corpus


def test_texts_that_were_trained_on_are_counted(tmp_path, capsys):
    test = rows([TEXTS[0].upper(), f" {TEXTS[1]}", "something new"], ["neg", "pos", "pos"])
    _ = module(tmp_path, test=test, validation=write(tmp_path / "validation.csv", rows(["quite another"], ["pos"]))).corpus
    said = capsys.readouterr().out
    assert "2 of the 3 texts of the test split are also in the train split, so scores on them do not show" in said
    assert said.count("are also in") == 1


def test_sentences_with_tags_that_were_trained_on_are_counted(tmp_path, capsys):
    _ = module(tmp_path, TAGGED, TAGGED[:1]).corpus
    said = capsys.readouterr().out
    assert "1 of the 1 sentences of the test split is also in the train split" in said
    assert said.rstrip().endswith("makes of new sentences.")


COPIED = rows(TEXTS[:12] * 8, ["neg", "pos"] * 48)


def test_copies_of_a_text_are_on_one_side_of_the_validation_cut(tmp_path, capsys):
    data = module(tmp_path, COPIED, rows(["x", "y"], ["neg", "pos"]), validation_share=0.2)
    assert len(data.corpus.train) + len(data.corpus.validation) == 96
    assert len(data.corpus.validation) == 24, "3 of 12 texts"
    assert not {*map(tuple, data.corpus.train.tokens)} & {*map(tuple, data.corpus.validation.tokens)}
    assert "are also in" not in capsys.readouterr().out
    assert data.record.copies == {}


def test_copies_on_both_sides_are_counted_where_texts_are_too_few(tmp_path, capsys):
    few = module(tmp_path, rows(["good", "bad"] * 10, ["pos", "neg"] * 10), rows(["x", "y"], ["neg", "pos"]))
    assert few.record.copies == {"validation in train": 2}
    assert "2 of the 2 texts of the validation split are also in the train split" in capsys.readouterr().out


@pytest.mark.parametrize(
    "labels",
    [
        [number * 0.37 for number in range(25)],
        [f"user{number}" for number in range(25)],
    ],
)
def test_labels_that_are_no_classes_are_refused(tmp_path, labels, refusal):
    with refusal():
        _ = module(tmp_path, rows([f"text {number}" for number in range(25)], labels)).corpus


def test_a_hundred_classes_are_classes(tmp_path):
    found = rows([f"text {number}" for number in range(400)], [number % 100 for number in range(400)])
    assert len(module(tmp_path, found, rows(["a"], [7]), validation_share=0.3).label_names) == 100


def test_numbers_that_are_equal_keep_their_order(tmp_path):
    found = rows(labels=["1.0", "1", "01", "1.00"] * 5)
    assert module(tmp_path, found, rows(["a"], ["1"]), validation_share=0.25).label_names == ("01", "1", "1.0", "1.00")


def test_two_columns_of_one_name_are_refused(tmp_path, refusal):
    content = "text,label,text\n" + "".join(f"{text},{label},x\n" for text, label in zip(TEXTS, LABELS, strict=True))
    with refusal():
        _ = raw(tmp_path, content).corpus


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tsv", as_text()),
        ("x.csv", f"# mine\n{as_text()}"),
        ("x.csv", "text,label\na\0b,pos\n"),
        ("x.csv", as_text(texts=["one, two"] * 20)),
        ("x.jsonl", json.dumps(rows())),
        ("x.jsonl", json.dumps(rows(), indent=1)),
        ("x.jsonl", '{"text": {"body": "a"}, "label": 1}\n'),
        ("x.jsonl", '{"text": "a", "label": ' + "9" * 5000 + "}\n"),
        ("x.csv", "text,label\n" + "".join(f"{text},{text} too\n" for text in [*TEXTS, "x"])),
    ],
)
def test_more_files_that_are_bad_as_a_whole(tmp_path, name, content, refusal):
    with refusal():
        _ = raw(tmp_path, content, name).corpus


def test_one_column_cannot_be_both(tmp_path, refusal):
    with refusal():
        _ = module(tmp_path, text_column="text", label_column="text").corpus


def test_parquet_may_hold_text_as_bytes(tmp_path):
    as_bytes = [{"text": row["text"].encode(), "label": row["label"].encode()} for row in rows()]
    corpus = module(tmp_path, as_bytes, as_bytes[:4], suffix=".parquet").corpus
    assert corpus.test.tokens[0] == ["text", "number", "0", "is", "bad"]
    assert corpus.label_names == ("neg", "pos")


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


@pytest.mark.whole("many repetitions")
@settings(max_examples=150)
@given(found=ROWS, on_bad_rows=st.sampled_from(["refuse", "skip"]), tagging=st.sampled_from([None, True, False]))
def test_no_rows_whatever_make_more_than_a_readable_error(tmp_path_factory, found, on_bad_rows, tagging):
    folder = tmp_path_factory.mktemp("fuzz")
    paths = [write(folder / f"{split}.jsonl", found) for split in ("train", "test", "validation")]
    with suppress(AttestError):
        corpus = FilesDataModule(*paths, on_bad_rows=on_bad_rows, tagging=tagging).corpus
        assert len(corpus.train) == len(corpus.test) > 0


@settings(max_examples=60)
@given(content=st.binary(max_size=200), suffix=st.sampled_from(sorted(READERS)))
def test_no_content_whatever_makes_more_than_a_readable_error(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("fuzz") / f"x{suffix}"
    path.write_bytes(content)
    with suppress(AttestError):
        assert all(row.place.split()[0] in ("line", "row") for row in read_rows(str(path), "train"))
