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


def arc_by_datasets(path):
    """As datasets and pandas write it: arrays in a cell."""
    choices = [f"{{'text': array({pair}, dtype=object), 'label': array(['A', 'B'], dtype=object)}}" for pair in CHOICES]
    pd.DataFrame({"question": TEXTS, "choices": choices, "answerKey": ["A", "B", "A"]}).to_csv(path, index=False)


def letters(path):
    first, second = zip(*CHOICES, strict=True)
    pd.DataFrame({"question": TEXTS, "B": second, "A": first, "answer": ["A", "B", "A"]}).to_csv(path, index=False)


def right_ones(path):
    rows = zip(TEXTS, CHOICES, RIGHT, strict=True)
    lines(path, [{"text": text, "choices": pair, "answer": pair[right]} for text, pair, right in rows])


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
    [
        (swag, "a.csv"),
        (arc, "a.parquet"),
        (arc_as_text, "a.csv"),
        (arc_by_datasets, "a.csv"),
        (race, "a.jsonl"),
        (letters, "a.csv"),
        (right_ones, "a.jsonl"),
        (lists_as_text, "a.csv"),
    ],
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
        pytest.param([["a", ["b", "c"], 0], ["d", ["e", "f", "g"], 0]], id="another number of choices"),
        pytest.param([["a", ["B", "A"], "A"], ["d", ["1", "0"], 1]], id="two meanings"),
        pytest.param(
            [["a", {"text": ["b", "c"], "label": 1}, 0], ["d", {"text": ["b", "c"], "label": [0, 1]}, 0]],
            id="numbers as names",
        ),
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
    with pytest.raises(AttestError, match="the number 2, and its text has 2 choices, so choices seem to be counted from 1"):
        read(tmp_path / "a.jsonl", CHOICE, on_bad_rows="skip")


def test_numbers_may_have_a_decimal_point_as_tables_with_gaps_write_them(tmp_path):
    lines(tmp_path / "a.jsonl", [{"text": "a", "choices": ["b", "c"], "label": label} for label in ("0.0", 1.0)])
    assert read(tmp_path / "a.jsonl", CHOICE).labels == [0, 1]


def test_letters_are_choices_also_if_none_is_the_first(tmp_path):
    lines(tmp_path / "a.jsonl", [{"text": "a", "choices": ["b", "c", "d"], "label": letter} for letter in "BC"])
    assert read(tmp_path / "a.jsonl", CHOICE).labels == [1, 2]


def test_eleven_columns_are_in_the_order_of_their_numbers(tmp_path):
    names = [f"option{place}" for place in range(1, 12)]
    pd.DataFrame([["a", *map(str, range(11)), "K"]], columns=["text", *sorted(names), "label"]).to_csv(
        tmp_path / "a.csv", index=False
    )
    found = read(tmp_path / "a.csv", CHOICE)
    assert found.texts[0][1] == [str(sorted(names).index(name)) for name in names]
    assert found.labels == [10]


@pytest.mark.parametrize(
    "names",
    [
        ["option1", "option2", "answer1"],
        ["option1", "option3"],
        ["choice1", "choice2", "choice_a", "choice_b"],
        ["option2", "option3"],
    ],
)
def test_columns_that_may_be_no_choices_are_not_guessed(tmp_path, names):
    pd.DataFrame([["a", *names, "A"]], columns=["text", *names, "label"]).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(AttestError, match=r"which column contains choices; name .* --second-column=<column>,<column>,…"):
        read(tmp_path / "a.csv", CHOICE)


def test_a_question_beside_its_text_is_never_left_out_in_silence(tmp_path, refusal):
    lines(tmp_path / "a.jsonl", [{"article": "It rains.", "question": "Why?", "options": ["b", "c"], "answer": "A"}])
    with refusal():
        read(tmp_path / "a.jsonl", CHOICE)
    assert read(tmp_path / "a.jsonl", CHOICE, text_column="question").texts == [("Why?", ["b", "c"])]


@pytest.mark.parametrize("second", ["ending0,ending0", "ending0,startphrase"])
def test_a_column_that_is_named_twice_is_refused(tmp_path, second):
    swag(tmp_path / "a.csv")
    with pytest.raises(AttestError, match="was named twice"):
        read(tmp_path / "a.csv", CHOICE, second_column=second, text_column="startphrase")


def squad(path):
    answers = [{"text": each, "answer_start": [0] * len(each)} for each in ANSWERS]
    pq.write_table(pa.table({"id": ["x", "y", "z"], "context": PASSAGES, "question": QUESTIONS, "answers": answers}), path)


def squad_as_text(path):
    answers = [json.dumps({"text": each, "answer_start": [0] * len(each)}) for each in ANSWERS]
    pd.DataFrame({"question": QUESTIONS, "context": PASSAGES, "answers": answers}).to_csv(path, index=False)


def squad_by_datasets(path):
    answers = [f"{{'text': array({each}, dtype=object), 'answer_start': array([0], dtype=int32)}}" for each in ANSWERS]
    pd.DataFrame({"question": QUESTIONS, "context": PASSAGES, "answers": answers}).to_csv(path, index=False)


def answer_lists(path):
    rows = zip(QUESTIONS, PASSAGES, ANSWERS, strict=True)
    lines(path, [{"question": question, "passage": passage, "answer": each} for question, passage, each in rows])


@pytest.mark.parametrize(
    ("write", "name"),
    [(squad, "a.parquet"), (squad_as_text, "a.csv"), (squad_by_datasets, "a.csv"), (answer_lists, "a.jsonl")],
)
def test_questions_are_read_as_data_sets_have_them(tmp_path, write, name, capsys):
    write(tmp_path / name)
    found = read(tmp_path / name, SPANS)
    assert (found.texts, found.labels, found.of) == ([*zip(QUESTIONS[:2], PASSAGES, strict=False)], ANSWERS[:2], 2)
    said = capsys.readouterr().out
    assert "questions, passages and answers from the columns question" in said
    assert "1 of 3 questions have no answer and are left out" in said


def test_an_answer_can_be_one_string_or_a_number(tmp_path):
    answers = ["Ann", "[in] May", '("Bob")', 1999, 1999.0, [1999], "[1999]"]
    lines(tmp_path / "a.jsonl", [{"question": "Who?", "text": "A.", "answer": answer} for answer in answers])
    assert read(tmp_path / "a.jsonl", SPANS).labels == [["Ann"], ["[in] May"], ['("Bob")'], *[["1999"]] * 4]


def test_questions_without_an_answer_take_no_place_in_the_draw(tmp_path):
    rows = [{"question": f"{place}?", "text": "Ann.", "answer": ["Ann"] if place == 40 else []} for place in range(50)]
    lines(tmp_path / "a.jsonl", rows)
    assert labelled(str(tmp_path / "a.jsonl"), "test", 1, FileOptions(form=form_for(SPANS))).texts == [("40?", "Ann.")]
    lines(tmp_path / "a.jsonl", rows[:40])
    with pytest.raises(AttestError, match="no question has an answer"):
        read(tmp_path / "a.jsonl", SPANS)


@pytest.mark.parametrize(
    "answer",
    ["{'text': array(['Ann']), 'answer_start': nan}", "['Ann', nan]", {"answer_start": [0]}, None, ["a", None], [["a"]], ""],
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
