"""Files with choices, and with passages and answers: what other programs write is read, or a sentence says why not."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, SPANS
from attest.datamodules.forms import form_for
from attest.datamodules.instances import FileOptions
from attest.datamodules.labelled import labelled

TEXTS = ["It rains.", "He is tired.", "We won."]
CHOICES = [["Take a coat.", "Swim."], ["He runs.", "He sleeps."], ["We cheer.", "We cry."]]
RIGHT = [0, 1, 0]
QUESTIONS = ["Who wrote it?", "When was that?", "Where is he?"]
PASSAGES = ["Ann Bell wrote it.", "That was in May 2020.", "Nobody knows."]
ANSWERS = [["Ann Bell", "Ann"], ["May 2020"], []]


def read(path, kind, **options):
    return labelled(str(path), "test", 10, FileOptions(form=form_for(kind), **options))


def lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def swag(path):
    rows = [[text, *choices, right] for text, choices, right in zip(TEXTS, CHOICES, RIGHT, strict=True)]
    table = pd.DataFrame(rows, columns=["startphrase", "ending0", "ending1", "label"])
    table[["ending1", "startphrase", "label", "ending0"]].to_csv(path, index=False)


def arc(path):
    choices = [{"text": pair, "label": ["A", "B"]} for pair in CHOICES]
    pq.write_table(pa.table({"question": TEXTS, "choices": choices, "answerKey": ["A", "B", "A"]}), path)


def arc_as_text(path):
    choices = [str([{"text": text, "label": name} for text, name in zip(pair, "12", strict=True)]) for pair in CHOICES]
    pd.DataFrame({"question": TEXTS, "choices": choices, "answerKey": [1, 2, 1]}).to_csv(path, index=False)


def race(path):
    rows = zip(TEXTS, CHOICES, "ABA", strict=True)
    lines(path, [{"text": text, "options": pair, "answer": right} for text, pair, right in rows])


def lists_as_text(path):
    pd.DataFrame({"text": TEXTS, "choices": map(json.dumps, CHOICES), "label": RIGHT}).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("write", "name"),
    [(swag, "a.csv"), (arc, "a.parquet"), (arc_as_text, "a.csv"), (race, "a.jsonl"), (lists_as_text, "a.csv")],
)
def test_choices_are_read_as_data_sets_have_them(tmp_path, write, name, capsys):
    write(tmp_path / name)
    found = read(tmp_path / name, CHOICE)
    assert (found.texts, found.labels) == ([*zip(TEXTS, CHOICES, strict=True)], RIGHT)
    assert "texts, choices and labels from the columns" in capsys.readouterr().out


def test_the_columns_of_choices_can_be_named(tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "yes": ["y"] * 3, "no, or not": ["n"] * 3, "never": ["x"] * 3, "right": RIGHT})
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = read(tmp_path / "a.csv", CHOICE, second_column="yes, never", label_column="right")
    assert found.texts == [(text, ["y", "x"]) for text in TEXTS]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([["a", ["b", "c"], 1], ["d", ["e", "f"], 2]], id="counted from 1"),
        pytest.param([["a", ["b", "c", "d"], 1], ["d", ["e", "f", "g"], 2]], id="without 0"),
        pytest.param([["a", ["b", "c"], "C"], ["d", ["e", "f"], "A"]], id="no such letter"),
        pytest.param([["a", {"text": ["b", "c"], "label": ["1", "2"]}, 0], ["d", ["e", "f"], 0]], id="no such name"),
        pytest.param([["a", ["b", "c", "d"], "AB"], ["d", ["e", "f", "g"], "A"]], id="two letters"),
        pytest.param([["a", {"text": ["b", "c"], "label": ["A"]}, "A"], ["d", ["e", "f"], 0]], id="too few names"),
        pytest.param([["a", ["b"], 0], ["d", "e", 0], ["f", ["g", None], 0], ["h", ["i", "j"], None]], id="broken cells"),
    ],
)
def test_choices_that_could_be_misread_are_refused(tmp_path, rows, refusal):
    lines(tmp_path / "a.jsonl", [dict(zip(("text", "choices", "label"), row, strict=True)) for row in rows])
    with refusal():
        read(tmp_path / "a.jsonl", CHOICE)


def test_numbers_counted_from_1_are_refused_also_where_bad_rows_are_left_out(tmp_path):
    lines(tmp_path / "a.jsonl", [{"text": "a", "choices": ["b", "c"], "label": label} for label in (1, 2, 1)])
    with pytest.raises(AttestError, match="without 0, so 1 has two meanings"):
        read(tmp_path / "a.jsonl", CHOICE, on_bad_rows="skip")


def test_numbers_may_have_a_decimal_point_as_tables_with_gaps_write_them(tmp_path):
    lines(tmp_path / "a.jsonl", [{"text": "a", "choices": ["b", "c"], "label": label} for label in ("0.0", 1.0)])
    assert read(tmp_path / "a.jsonl", CHOICE).labels == [0, 1]


def test_letters_are_choices_also_if_none_is_the_first(tmp_path):
    lines(tmp_path / "a.jsonl", [{"text": "a", "choices": ["b", "c", "d"], "label": letter} for letter in "BC"])
    assert read(tmp_path / "a.jsonl", CHOICE).labels == [1, 2]


def squad(path):
    answers = [{"text": each, "answer_start": [0] * len(each)} for each in ANSWERS]
    pq.write_table(pa.table({"id": ["x", "y", "z"], "context": PASSAGES, "question": QUESTIONS, "answers": answers}), path)


def squad_as_text(path):
    answers = [json.dumps({"text": each, "answer_start": [0] * len(each)}) for each in ANSWERS]
    pd.DataFrame({"question": QUESTIONS, "context": PASSAGES, "answers": answers}).to_csv(path, index=False)


def answer_lists(path):
    rows = zip(QUESTIONS, PASSAGES, ANSWERS, strict=True)
    lines(path, [{"question": question, "passage": passage, "answer": each} for question, passage, each in rows])


@pytest.mark.parametrize(("write", "name"), [(squad, "a.parquet"), (squad_as_text, "a.csv"), (answer_lists, "a.jsonl")])
def test_questions_are_read_as_data_sets_have_them(tmp_path, write, name, capsys):
    write(tmp_path / name)
    found = read(tmp_path / name, SPANS)
    assert (found.texts, found.labels) == ([*zip(QUESTIONS, PASSAGES, strict=True)], ANSWERS)
    assert "questions, passages and answers from the columns question" in capsys.readouterr().out


def test_an_answer_can_be_one_string(tmp_path):
    frame = pd.DataFrame({"question": QUESTIONS[:2], "text": PASSAGES[:2], "answer": ["Ann", "[in] May"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert read(tmp_path / "a.csv", SPANS).labels == [["Ann"], ["[in] May"]]


@pytest.mark.parametrize(
    "answer",
    ["{'text': array(['Ann'], dtype=object), 'answer_start': array([0])}", {"answer_start": [0]}, None, [1, None], ""],
)
def test_answers_that_are_none_are_refused(tmp_path, answer, refusal):
    lines(tmp_path / "a.jsonl", [{"question": "Who?", "context": "Ann.", "answers": answer}])
    with refusal():
        read(tmp_path / "a.jsonl", SPANS)


@pytest.mark.parametrize("kind", [CHOICE, SPANS], ids=lambda kind: kind.name)
def test_a_file_or_a_corpus_of_another_form_is_refused(tmp_path, kind, refusal, corpora):
    (tmp_path / "a.csv").write_text("question,label\na,0\nb,1\n")
    for source in (tmp_path / "a.csv", "sst"):
        with refusal():
            read(source, kind)
    with refusal():
        read(tmp_path / "a.csv", kind, second_column="question")
