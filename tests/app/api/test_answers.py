"""Models that answer questions by a span of a passage: whether they go on giving their answer is on trial."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForQuestionAnswering

import attest
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.core.kinds import SPANS
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_before, kind_in
from tests.app.api.test_choices import made
from tests.models.pretrained.tiny import TEXTS

ASKED = [(TEXTS[place - 1], text) for place, text in enumerate(TEXTS)]
QUICK = {"E1": {}, "E2": {"permutations": 2}, "E8": {}, "E9": {}, "E14": {"texts": 20}, "E15": {"texts": 2}}


def tried(model, tokenizer, texts=ASKED, asked=None, **options):
    asked = {"E2": {"permutations": 1}} if asked is None else asked
    return attest.trial(model, texts, asked, tokenizer=tokenizer, progress=False, **options)


@pytest.fixture(scope="module")
def model():
    return made(AutoModelForQuestionAnswering, num_labels=2)


@pytest.fixture(scope="module")
def trial(model, tokenizer):
    return tried(model, tokenizer, asked=QUICK)


@torch.no_grad()
def spans(model, read, kept=None):
    """The logit of each span of the passage by its first and last place in what the tokenizer gave, perhaps without tokens."""
    kept = [*range(read["input_ids"].shape[1])] if kept is None else kept
    found = model(**{name: each[:, kept] for name, each in read.items()})
    of_passage = [at for at, place in enumerate(kept) if read.sequence_ids(0)[place] == 1]
    pairs = [(begin, end) for begin in of_passage for end in of_passage if begin <= end]
    return {(kept[b], kept[e]): float(found.start_logits[0, b] + found.end_logits[0, e]) for b, e in pairs}


def probability(found, answer):
    """Of an answer beside the best other one."""
    other = max(logit for span, logit in found.items() if span != answer)
    return 1 / (1 + np.exp(other - found[answer])) if answer in found else 0.0


@pytest.mark.parametrize("name", ["bert", "roberta", "llama"])
def test_answers_are_those_of_the_model(tokenizer, name):
    model = made(AutoModelForQuestionAnswering, name, num_labels=2)
    table = tried(model, tokenizer).table()
    for (question, passage), (_, row) in zip(ASKED, table.iterrows(), strict=True):
        read = tokenizer(question, passage, return_tensors="pt")
        found = spans(model, read)
        begin, end = answer = max(found, key=found.get)
        assert row["probability_its answer"] == pytest.approx(probability(found, answer), abs=1e-5)
        first, last = (read[0].offsets[place] for place in (begin, end))
        assert row["answer"] == passage[first[0] : last[1]]
    assert (table["predicted"] == 1).all()


def test_leave_one_out_is_of_the_passage_and_moves_the_answer(trial, model, tokenizer):
    for place in range(3):
        read = tokenizer(*ASKED[place], return_tensors="pt")
        found = spans(model, read)
        answer = max(found, key=found.get)
        size = read["input_ids"].shape[1]
        moved = trial.table("E1")["leave_one_out_inputs"][place]
        for token in range(size):
            if read.sequence_ids(0)[token] == 1:
                after = spans(model, read, [at for at in range(size) if at != token])
                assert moved[token] == pytest.approx(abs(probability(found, answer) - probability(after, answer)), abs=1e-5)


def test_nothing_of_the_question_is_erased(model, tokenizer, monkeypatch):
    from attest.app.api.cases import Spans
    from attest.app.api.measuring import Measuring

    seen = []

    class Looking(Measuring):
        def _observe(self, batch):
            seen.append(super()._observe(batch))
            return seen[-1]

    monkeypatch.setattr(Spans, "measuring", Looking)
    tried(model, tokenizer)
    erasable = {int(each): row for look in seen for each, row in zip(look.ids, look.ranked, strict=True)}
    for place, asked in enumerate(ASKED):
        of_passage = [text == 1 for text in tokenizer(*asked).sequence_ids(0)]
        assert erasable[place][: len(of_passage)].tolist() == of_passage


def test_scores_are_squads(model, tokenizer, trial):
    given = trial.table()["answer"].tolist()
    right = [[given[0], "no"], f"The {given[1]}!", "never", "never", "never"][: len(given)]
    found = tried(model, tokenizer, labels=right)
    assert found.summary["test/answer_exact_match"] == pytest.approx(2 / len(given))
    assert found.table()["label"].tolist() == [1, 1, *[0] * (len(given) - 2)]
    assert found.verdict is None


def test_questions_without_an_answer_are_left_out_and_counted(model, tokenizer, trial, capsys, refusal):
    right = [{"text": [], "answer_start": []}, *({"text": [each]} for each in trial.table()["answer"][1:])]
    found = tried(model, tokenizer, labels=right)
    assert found.table()["id"].tolist() == [1, 2, 3, 4]
    assert found.summary["test/answer_exact_match"] == 1
    said = capsys.readouterr().out
    assert "1 of 5 questions have no answer and are left out" in said
    assert "stands in their passage" not in said
    tried(model, tokenizer, labels=["no such words", *right[1:]])
    assert "1 of 5 questions have no right answer that stands in their passage" in capsys.readouterr().out
    with refusal():
        tried(model, tokenizer, labels=[{"text": []}] * 5)


def test_a_table_of_questions_has_columns_by_name(model, tokenizer, trial, tmp_path):
    table = pd.DataFrame(ASKED, columns=["question", "context"])
    table["answers"] = [{"text": [answer], "answer_start": [0]} for answer in trial.table()["answer"]]
    columns = {"text_column": "question", "second_column": "context", "label_column": "answers"}
    found = tried(model, tokenizer, table, **columns)
    assert found.summary["test/answer_exact_match"] == 1
    assert found.report(tmp_path / "report.html").is_file()


def test_a_folder_and_a_file_are_put_on_trial_as_from_python(model, tokenizer, trial, tmp_path, corpora, capsys, snapshot):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    found = attest.trial(str(tmp_path), ASKED, {"E2": {"permutations": 1}}, progress=False)
    assert found.table()["answer"].tolist() == trial.table()["answer"].tolist()
    answers = [["no such words"], *([answer, "another"] for answer in trial.table()["answer"][1:])]
    rows = [
        {"question": asked, "context": text, "answers": {"text": each}}
        for (asked, text), each in zip(ASKED, answers, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    given = ["trial", "--model", str(tmp_path), "--out", str(tmp_path / "out"), "E2"]
    assert main([*given, "--data", str(tmp_path / "a.jsonl")]) == 0
    of_file = attest.open_run(tmp_path / "out")
    assert of_file.table()["answer"].tolist() == trial.table()["answer"].tolist()
    assert of_file.table()["label"].tolist() == [0, 1, 1, 1, 1]
    assert of_file.summary["test/answer_exact_match"] == 0.8
    capsys.readouterr()
    assert main([*given, "--data", "sst"]) == 2
    assert capsys.readouterr().err.replace(str(tmp_path), "FOLDER").strip() == snapshot


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (TEXTS, {}),
        (ASKED, {"labels": ["a"]}),
        (ASKED, {"labels": [1] * len(ASKED)}),
        (ASKED, {"window": 9}),
        (ASKED, {"labels": "abcde"}),
        (ASKED[:2], {"labels": {"text": [["fine"], ["dull"]], "answer_start": [[0], [0]]}}),
        (ASKED, {"labels": 3}),
        (ASKED, {"labels": [{"answer": "fine"}] * len(ASKED)}),
    ],
)
def test_what_is_no_question_is_refused(model, tokenizer, texts, options, snapshot):
    with pytest.raises(AttestError) as error:
        tried(model, tokenizer, texts, **options)
    assert str(error.value) == snapshot


def test_its_kind_stands_in_its_settings_and_an_older_folder_shows_it(trial):
    assert (kind_in(RunContents(trial.folder)), kind_before(RunContents(trial.folder))) == (SPANS, SPANS)
