"""What people marked, in every shape in which corpora keep it, comes to the same marks of tokens."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import attest
from attest.app.api.batched import with_words
from attest.app.api.batches import batches_of
from attest.app.api.beside import units_of
from attest.app.api.given import given
from attest.app.api.rationales import KEY, with_marks
from attest.app.cli.main import main
from attest.models.pretrained.texts import Encoder
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

MARKED = [[0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0], [0, 1, 0, 1, 1, 0]]
"""The words of ``TEXTS`` that are marked; ``dully`` is read in two subwords."""
SPANS = [[(1, 2)], [(1, 3)], [(0, 1), (2, 3)], [(1, 2)], [(1, 2), (3, 5)]]
EVIDENCES = [[[{"start_token": start, "end_token": end, "docid": "d"} for start, end in spans]] for spans in SPANS]
STARRED = ["a *fine* film", "a *dull* *film* .", "*not* a *fine* film .", "very *dully* film", "a *very* , *very* *fine* film"]
SHAPES = {
    "0 and 1": MARKED,
    "arrays": [np.array(each) for each in MARKED],
    "annotators that agree": [[each, each] for each in MARKED],
    "spans": SPANS,
    "evidences": EVIDENCES,
    "stars": STARRED,
    "a table": pd.DataFrame({"text": TEXTS[::-1], "rationales": EVIDENCES[::-1]}),
}


def held(encode, texts, rationales):
    batches = with_words(batches_of(texts, encode, batch_size=2), encode, texts)
    batches = with_marks(batches, rationales, units_of(batches, given(texts), encode))
    rows = {int(row): each for batch in batches for row, each in zip(batch["id"], batch[KEY], strict=True)}
    return [rows[place] for place in range(len(texts))]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_comes_to_the_same_marks(shape, model, tokenizer):
    found = held(Encoder(model, tokenizer), TEXTS, SHAPES[shape])
    for row, marked in zip(found, [*MARKED[:3], [0, 1, 1, 0], MARKED[4]], strict=True):
        for annotator in range(row.shape[-1]):
            assert row[: len(marked) + 2, annotator].tolist() == [0, *marked, 0]


def test_annotators_and_texts_that_nobody_read(model, tokenizer, capsys):
    found = held(Encoder(model, tokenizer), TEXTS, [[MARKED[0], [1, 0, 0]], None, [], MARKED[3], [MARKED[4]]])
    assert capsys.readouterr().out == "Rationales: one mark for each word, of 2 annotators. 2 of 5 texts have none.\n"
    assert found[0][:5].tolist() == [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0]]
    assert found[1].isnan().all()
    assert found[3][:, 1].isnan().all()


def test_marks_of_a_pair_are_those_of_both_texts(model, tokenizer, refusal):
    """As e-SNLI has them, of several annotators too; ERASER says by the name of a document where a span lies."""
    pairs, encode = [("a fine film.", "very dully")], Encoder(model, tokenizer)
    once = [0, 0, 1, 0, 0, 0, 0, 1, 1, 0]
    assert held(encode, pairs, [("a *fine* film.", "very *dully*")])[0][:10, 0].tolist() == once
    of_two = held(encode, pairs, [[("a *fine* film.", "very *dully*"), ["a fine *film.*", "*very* dully"]]])[0]
    assert of_two[:10].T.tolist() == [once, [0, 0, 0, 1, 1, 0, 1, 0, 0, 0]]
    spans = [(1, 2, "7_premise"), (1, 2, "7_hypothesis")]
    groups = [[{"start_token": start, "end_token": end, "docid": docid}] for start, end, docid in spans]
    assert held(encode, pairs, [groups])[0][:10, 0].tolist() == once
    assert held(encode, pairs, [[(1, 2), (4, 5)]])[0][:10, 0].tolist() == once
    with refusal():
        held(encode, pairs, [[{"start_token": 1, "end_token": 2, "docid": "7"}]])


def test_stars_of_a_single_pair(model, tokenizer):
    pairs = [("a fine film", "very dully")]
    assert held(Encoder(model, tokenizer), pairs, [("a *fine* film", "very *dully*")])[0][:9, 0].tolist() == [
        0, 0, 1, 0, 0, 0, 1, 1, 0
    ]  # fmt: skip


WRONG = {
    "a number": [[0, 2, 0], *MARKED[1:]],
    "another length": [[0, 1], *MARKED[1:]],
    "a span beyond": [[(1, 9)], *SPANS[1:]],
    "another text": ["a *dull* film", *STARRED[1:]],
    "stars around two words": ["a *fine film*", *STARRED[1:]],
    "too few": MARKED[:4],
    "none": [None] * 5,
    "a dictionary": dict(zip(TEXTS, MARKED, strict=True)),
    "in no order": {*map(tuple, MARKED)},
    "no list": 3,
    "no column": pd.DataFrame({"text": TEXTS, "why": MARKED}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_marks_nothing_is_refused(wrong, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, TEXTS, ["E15"], tokenizer=tokenizer, rationales=WRONG[wrong], progress=False)


def test_an_empty_cell_is_a_text_without_marks(model, tokenizer):
    """NaN is unlike itself: a text with an empty cell was said to stand twice in the table."""
    encode = Encoder(model, tokenizer)
    expected = [marks.isnan().all().item() for marks in held(encode, TEXTS, [*STARRED[:4], None])]
    assert expected == [False, False, False, False, True]
    for empty in (None, np.nan, pd.NA):
        for column in ([*STARRED[:4], empty], [*MARKED[:4], empty]):
            table = pd.DataFrame({"text": TEXTS, "rationales": pd.Series(column, dtype=object)})
            assert [marks.isnan().all().item() for marks in held(encode, TEXTS, table)] == expected
            assert [marks.isnan().all().item() for marks in held(encode, TEXTS, column)] == expected


def test_marks_in_tensors_are_those_in_lists(model, tokenizer):
    encode = Encoder(model, tokenizer)
    for marks, listed in zip(held(encode, TEXTS, [*map(torch.tensor, MARKED)]), held(encode, TEXTS, MARKED), strict=True):
        assert torch.equal(marks, listed)


def test_a_table_that_is_damaged_is_named(model, tokenizer, tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    Path("marks.parquet").write_bytes(b"PAR1 and no more")
    for option in ("rationales", "explanations"):
        with refusal():
            attest.trial(model, TEXTS, ["E15"], tokenizer=tokenizer, progress=False, **{option: "marks.parquet"})


def test_a_trial_says_what_people_would_have_said(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    pd.DataFrame({"text": TEXTS, "label": ["bad", "good", "bad", "bad", "good"]}).to_csv(tmp_path / "reviews.csv", index=False)
    both = [[marked, marked[::-1]] for marked in MARKED]
    pd.DataFrame({"text": TEXTS, "rationales": both}).to_parquet(tmp_path / "marks.parquet")
    typed = ["trial", f"--model={tmp_path / 'model'}", f"--data={tmp_path / 'reviews.csv'}", f"--out={tmp_path / 'out'}"]
    assert main([*typed, f"--rationales={tmp_path / 'marks.parquet'}", "--readings=rollout", "--processes=1", "E15"]) == 0
    run = attest.open_run(tmp_path / "out")
    keys = [f"E15/plausible_{name}/mean" for name in ("f1_rollout", "auprc_chance", "iou_recall_random", "f1_human")]
    assert all(0 < run.summary[key] <= 1 for key in keys)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "A plausible reading need not be faithful" in page
    assert "marked: IOU F1" in page


SENTENCES = [["a", "fine", "film"], ["very", "dully", "film", "."], ["not", "a", "film"]]
EXPLAINED = [{"word": 2, "marks": [0, 1, 0]}, {"word": 2, "marks": [(0, 2)]}, None]


@pytest.fixture(scope="module")
def tagger():
    return tiny("bert", tokens=True, vocab_size=len(WORDS), id2label=dict(enumerate(["O", "B-NP", "I-NP"])))


def test_marks_for_the_tag_of_a_word(tagger, tokenizer):
    """Words are ranked, not their subwords, and not the word itself: one of two is marked, then two of three."""
    told = {"tokenizer": tokenizer, "labels": [[1, 2, 2], [0, 1, 2, 0], [0, 1, 2]], "progress": False}
    table = attest.trial(tagger, SENTENCES, {"E14": {"texts": 1}}, rationales=EXPLAINED, batch_size=2, **told).table("E15")
    assert table["token"].tolist()[:2] == [3, 4]
    assert table["plausible_f1_chance"].tolist() == pytest.approx([1 / 2, 2 / 3, np.nan], nan_ok=True)
    f1 = table["plausible_f1_leave_one_out"]
    assert f1[:2].isin([0, 0.5, 1]).all()
    assert table["win_comprehensiveness_rollout"].notna().all()
    frame = pd.DataFrame({"tokens": SENTENCES, "rationales": EXPLAINED})
    again = attest.trial(tagger, SENTENCES, ["E15"], rationales=frame, batch_size=3, **told).table("E15")
    pd.testing.assert_frame_equal(again, table, atol=1e-6)


@pytest.mark.parametrize("row", [[0, 1, 0], {"word": 3, "marks": [0, 1, 0]}, {"word": 2}], ids=["marks", "word", "nothing"])
def test_a_taggers_marks_say_whose_tag_they_explain(row, tagger, tokenizer, refusal):
    with refusal():
        attest.trial(tagger, SENTENCES[:1], tokenizer=tokenizer, labels=[[1, 2, 2]], rationales=[row], progress=False)
