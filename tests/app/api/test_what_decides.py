"""E19 in every kind of model that decides: what is filled, what is never filled, and what is said of it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForMultipleChoice, AutoModelForQuestionAnswering, AutoModelForTokenClassification

import attest
from attest.app.api.measuring import Ticking, so_far
from attest.experiments.deciding.observed import texts_about_a_tag
from attest.experiments.erasure import about_one_token
from attest.experiments.layers import observe_layers
from attest.report.answer import SINK
from attest.report.findings import Findings
from tests.app.api.test_choices import CHOICES, made
from tests.experiments.layers.networks import tagger
from tests.models.pretrained.planted import ANSWERS, BEFORE, TEMPLATE, WORDS, planted, trained
from tests.models.pretrained.tiny import TEXTS, tiny

ASKED = {"E19": {}}
MASK = torch.tensor([[True] * 4, [True] * 3 + [False]])
TAGGED = [text.split() for text in TEXTS]


def tried(model, data, **options):
    return attest.trial(model, data, options.pop("asked", ASKED), progress=False, **options)


def found(trial):
    """The rows that were read, each in agreement with itself; each text has its picture, with all words that decide."""
    rows = trial.table("E19")
    for row in rows.to_dict("records") if trial.folder.evidence("instances").is_file() else ():
        text = trial.explain(row["id"])
        assert bool(text.shown.deciding) == bool(row["needs_words"])
        assert text.save(trial.folder.path / "text.svg").read_text().count('class="under"') >= bool(row["needs_words"])
        assert ("No word decides" in text._repr_html_()) != bool(row["needs_words"])
    assert len(rows)
    assert rows["needs_words"].isin([0, 1]).all()
    needing = rows["needs_words"] == 1
    assert (rows["decides"].map(sum) > 0).tolist() == needing.tolist()
    assert rows["right"].notna().tolist() == needing.tolist()
    assert (rows["words"][needing] <= rows["decides"].map(sum)[needing]).all()
    return rows


@pytest.mark.whole("a training to its end")
def test_a_classifier_of_subwords(model, tokenizer):
    trial = tried(model, TEXTS, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1])
    rows, texts = found(trial), trial.table().set_index("id")
    for _, row in rows.iterrows():
        assert not (np.array(row["decides"]) * np.array(texts.loc[row["id"], "special"])).any()
    assert {"right_random", "right_leave_one_out", "right_gradient_input_signed", "right_last_layer"} <= {*rows}


@pytest.mark.whole("whole trials")
def test_a_pair_a_choice_and_a_question(model, tokenizer):
    found(tried(model, list(zip(TEXTS, TEXTS[::-1], strict=True)), tokenizer=tokenizer))
    found(tried(made(AutoModelForMultipleChoice), CHOICES, tokenizer=tokenizer))
    asked = [(TEXTS[place - 1], text) for place, text in enumerate(TEXTS)]
    trial = tried(made(AutoModelForQuestionAnswering, num_labels=2), asked, tokenizer=tokenizer)
    rows, texts = found(trial), trial.table().set_index("id")
    for _, row in rows.iterrows():
        assert not (np.array(row["decides"]) * np.array(texts.loc[row["id"], "special"])).any(), "the question stays"


@pytest.mark.whole("whole trials")
def test_each_label_of_a_text(tokenizer):
    several = tiny("bert", problem_type="multi_label_classification", id2label=dict(enumerate("abc")))
    rows = found(tried(several, TEXTS, tokenizer=tokenizer, labels=[["a"], ["b", "c"], [], ["c"], ["a"]]))
    assert {"text", "asked"} <= {*rows}


@pytest.mark.whole("whole trials")
def test_a_number_moves_and_has_no_probability(tokenizer):
    rows = found(tried(tiny("bert", num_labels=1), TEXTS * 5, tokenizer=tokenizer))
    assert (rows.filter(like="moved_").fillna(0) >= 0).all(axis=None)
    assert not {"without_words", "with_words"} & {*rows}
    needing = rows[rows["needs_words"] == 1]
    assert (needing["moved_with_words"] <= 0.2 * needing["moved_without_words"] + 1e-6).all(), "four fifths of the way"


def test_the_bar_names_the_texts_that_are_read_and_the_share_so_far():
    assert so_far([], 0, 20, 160) == "Texts 1 to 20, of at most 160"
    rows = pd.DataFrame({"id": [1, 2, 3, 4], "right": [1.0, 0.0, 1.0, None]})
    said = so_far([rows[:2], rows[2:]], 20, 40, 160)
    assert said.replace("\N{NO-BREAK SPACE}", " ") == "Texts 21 to 40, of at most 160; right so far in 67 % of 3"
    assert so_far([pd.DataFrame({"id": [1]})], 20, 40, 160) == "Texts 21 to 40, of at most 160"


def test_a_tag_of_one_word_is_decided_by_others(tokenizer):
    model = made(AutoModelForTokenClassification, num_labels=3)
    trial = tried(model, TAGGED, tokenizer=tokenizer, labels=[[0] * len(words) for words in TAGGED])
    rows, sentences = found(trial), trial.table("tagged").set_index("id")
    for _, row in rows.iterrows():
        place = int(row["token"])
        assert row["decides"][place] == 0
        tags = sentences.loc[row["id"], "tags"]
        assert tags[place] >= 0, "a word, and no special token"
        assert not (np.array(row["decides"]) * (np.array(tags) < 0)).any()


def test_the_word_whose_tag_is_asked_about_is_never_filled():
    model = tagger()
    seen = observe_layers(model, torch.arange(2), torch.tensor([[5, 6, 7, 8], [9, 5, 6, 0]]), MASK)
    view, place = about_one_token(seen, 0)
    words = texts_about_a_tag(view).words
    assert (words.gather(1, place[:, None]) == -1).all()
    assert ((words >= 0).sum(dim=1) == MASK.sum(dim=1) - 1).all()


def test_pieces_of_a_word_of_a_tagger_go_together_and_those_of_the_asked_word_stay():
    """A word of three pieces is beside the asked one in the first sentence, and asked about in the second."""
    tokens, words = torch.tensor([[2, 5, 6, 7, 8, 3]] * 2), torch.tensor([[-1, 0, 1, 1, 1, -1]] * 2)
    mask, ids = torch.ones_like(tokens, dtype=torch.bool), torch.arange(2)
    seen = observe_layers(tagger(), ids, tokens, mask, special=words < 0, words=words)
    view, _ = about_one_token(seen.rows(ids), 0, torch.tensor([1, 3]))
    texts = texts_about_a_tag(view)
    assert texts.words.tolist() == [[-1, -1, 1, 1, 1, -1], [-1, 0, -1, -1, -1, -1]]
    assert texts.there.tolist() == [[False, True], [True, False]]


def test_a_tagger_of_word_pieces_is_asked_about_words(tokenizer):
    """Each “dully” is two tokens; a sentence of one word has no other words, and is not read."""
    sentences = [["dully", "film"], ["very", "dully", "film", "dully"], ["dully"]] * 4
    model = made(AutoModelForTokenClassification, num_labels=3)
    trial = tried(model, sentences, tokenizer=tokenizer, labels=[[0] * len(words) for words in sentences])
    rows, tokens = trial.table("E19").set_index("id"), trial.table("tagged").set_index("id")["tokens"]
    assert set(rows.index[rows["needs_words"].isna()]) == {2, 5, 8, 11}
    pieces = [(row, place) for row, each in tokens.items() for place, token in enumerate(each) if token == "##y"]
    asked = rows["token"].astype(int)
    for row, place in pieces:
        decides = rows["decides"][row]
        assert decides[place] == decides[place - 1]
        assert not (asked[row] == place - 1 and decides[place])
    assert any(rows["decides"][row][place] for row, place in pieces)
    assert (rows["words"].dropna() <= 3).all()


@pytest.mark.whole("several processes")
def test_shares_do_not_hang_on_batches_or_processes(model, tokenizer):
    options = {"tokenizer": tokenizer, "labels": [1, 0, 0, 0, 1] * 5}
    torch.set_num_threads(1)
    first = tried(model, TEXTS * 5, **options)
    for other in ({"batch_size": 3}, {"processes": 2}):
        again = tried(model, TEXTS * 5, **options, **other)
        pd.testing.assert_frame_equal(again.table("E19"), first.table("E19"), atol=1e-5)
        assert again.verdict == first.verdict


@pytest.mark.whole("whole trials")
def test_another_explanation_gets_a_verdict(model, tokenizer):
    options = {"tokenizer": tokenizer, "labels": [1, 0, 0, 0, 1] * 5, "reading": "leave-one-out"}
    trial = tried(model, TEXTS * 5, **options)
    rows = found(trial)
    assert rows["right"].equals(rows["right_leave_one_out"])
    assert "verdict" in trial.summary or trial.unanswered


@pytest.mark.whole("whole trials")
def test_a_sink_of_the_tested_reading_is_set_aside_and_named():
    """The numbers of the reading are on the first word of every text, and half as large on the two words that decide."""
    made = trained()
    texts, labels, spans = planted(torch.Generator().manual_seed(7), 80)
    scores = [[1.0] + [0.0] * WORDS for _ in texts]
    for number, (first, second) in spans.items():
        scores[number][first - BEFORE + 1] = scores[number][second - BEFORE + 1] = 0.5
    options = {"tokenizer": made.tokenizer, "prompt": TEMPLATE, "answers": ANSWERS, "labels": labels}
    options |= {"explanations": {"mine": scores}, "asked": {"E19": {"readings": ["random"]}}}
    trial = tried(made.model, [f"the {text}" for text in texts], reading="mine", **options)
    rows = trial.table("E19").query("needs_words == 1")
    assert (rows["right"] == 0).all()
    assert (rows["right_without_sink"] == 1).all()
    assert (rows["sink"] == BEFORE).all()
    assert trial.verdict.startswith("No. The reading mine points at the words that decide in 0\xa0%")
    found = Findings(trial.folder)
    assert "“Ġthe” has the most weight" in found.sink
    assert "Without this sink, the reading mine points at the words that decide in 100\xa0% [" in found.sink
    assert found.sentences[1].startswith(f"The reading mine without its sink, {SINK}, does in 100\xa0% [")


@pytest.mark.whole("whole trials")
def test_reading_ends_where_the_answer_is_known():
    """Every second text has two words, either of which is enough; the reading points at them, and random numbers do not."""
    made = trained()
    texts, labels, spans = planted(torch.Generator().manual_seed(7), 160)
    scores = [[0.0] * WORDS for _ in texts]
    for number, (first, second) in spans.items():
        scores[number][first - BEFORE] = scores[number][second - BEFORE] = 1.0
    options = {"tokenizer": made.tokenizer, "prompt": TEMPLATE, "answers": ANSWERS, "labels": labels}
    options |= {"explanations": {"mine": scores}, "asked": {"E19": {"readings": ["random"]}}}
    trial = tried(made.model, texts, reading="mine", **options)
    assert trial.verdict.startswith("Yes. The reading mine points at the words that decide in 100")
    assert 40 < len(trial.table("E19")) < 160
    needing = trial.table("E19").query("needs_words == 1")
    assert needing["id"].mod(2).eq(0).all()


def test_the_bar_of_neutral_words_moves_with_each_pass_up_to_its_end(model, tokenizer, monkeypatch):
    """Its end is an estimate from above: tokens are counted as words."""
    bars = {}

    class Bar:
        disable = True

        def __init__(self, about, total, progress):
            self.total, self.steps = total, []
            bars[about] = self

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, step):
            self.steps.append(step)

        def set_description_str(self, about):
            pass

    monkeypatch.setattr("attest.app.api.measuring.progress_bar", Bar)
    tried(model, TEXTS * 8, tokenizer=tokenizer)
    first, second = (bars[f"Words that hardly move the model, sample {number} of 2"] for number in (1, 2))
    for bar in (first, second):
        assert len(bar.steps) > 3, "it moves"
        assert 0.5 * bar.total < sum(bar.steps) <= bar.total
    assert "Texts 1 to 20, of at most 40" in bars


def test_a_bar_is_drawn_again_while_the_model_reads_only_where_people_see_it(monkeypatch):
    drawn, seen, now = [], [True], [0.0]
    monkeypatch.setattr("attest.app.api.measuring.seen_by_people", lambda: seen[0])
    monkeypatch.setattr("attest.app.api.measuring.time.monotonic", lambda: now[0])
    bar = SimpleNamespace(disable=False, refresh=lambda: drawn.append(now[0]))
    tick = Ticking(bar)
    for now[0] in (0.5, 1.0, 1.5, 2.5):
        tick(8)
    assert drawn == [1.0, 2.5]
    for seen[0], bar.disable in ((False, False), (True, True)):
        tick, now[0] = Ticking(bar), now[0] + 9
        tick(8)
    assert drawn == [1.0, 2.5]
