"""Tagged sentences, as the report of a tagger shows them."""

import html

import numpy as np
import pandas as pd
import pytest

from attest.report import write_report
from attest.report.sentences import shown_sentences
from tests.report.made import made_run

NAMES = ["O", "B-NP", "I-NP"]


def sentence(identity, tags, predicted, confidence, attention=None):
    """Words a b c …; the predicted tag has the confidence, the others share the rest; two heads that attend alike."""
    size = len(tags)
    probabilities = np.full((size, 3), (1 - np.array(confidence)[:, None]) / 2)
    probabilities[np.arange(size), predicted] = confidence
    attention = np.full((size, size), 1 / size) if attention is None else attention
    return {
        "id": identity,
        "length": size,
        "tags": np.array(tags),
        "predicted_tags": np.array(predicted),
        **{f"probability_{name}": probabilities[:, k] for k, name in enumerate(NAMES)},
        "attention": np.stack([attention, attention], axis=-1).astype(np.float32).ravel(),
        "tokens": list("abcdefgh"[:size]),
    }


ATTENTION = np.array([[0.1, 0.2, 0.3, 0.4, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]])
ROWS = pd.DataFrame(
    [
        sentence(4, [1, 2, 0, 1, -1], [1, 1, 0, 1, 2], [0.6, 0.9, 0.7, 0.8, 0.4], ATTENTION),
        sentence(2, [1, 2], [0, 0], [0.5, 0.5]),
        sentence(9, [1, 2], [1, 2], [0.5, 0.6]),
    ]
)


def test_they_are_spread_from_the_worst_to_the_best_with_the_gold_tag_where_a_word_is_wrong():
    shown = shown_sentences(ROWS)
    assert [each["id"] for each in shown] == [2, 4, 9]
    assert [each["right"] for each in shown] == [0, 0.75, 1]
    assert shown[1]["tags"] == [("B-NP", None), ("B-NP", "I-NP"), ("O", None), ("B-NP", None), None]


def test_the_attention_is_that_of_wrong_words_and_of_those_least_sure_in_their_order():
    """Word e is of no tag, so it is not asked about, however unsure the model is of it."""
    shown = shown_sentences(ROWS)[1]["explanations"]
    assert [each.name for each in shown] == ["“a” → B-NP (0.60)", "“b” → B-NP (0.90), gold tag I-NP", "“c” → O (0.70)"]
    for word, each in enumerate(shown):
        np.testing.assert_allclose(each.weights, ATTENTION[word], rtol=1e-6)
    assert shown[1].top(list("abcde")) == [("e", 1.0)]


@pytest.mark.parametrize("rows", [None, ROWS.drop(columns="tokens"), ROWS.drop(columns="attention")])
def test_there_are_none_where_words_or_attention_are_not_stored(rows):
    assert shown_sentences(rows) == []


def test_the_page_of_a_tagger_has_its_f1_in_the_head_and_its_sentences(tmp_path):
    run = made_run(tmp_path / "conll2000" / "ya-tagger" / "seed0", {"test/accuracy": 0.625, "test/chunk_f1": 0.25}, ROWS)
    write_report(run, figures=[])
    page = html.unescape(run.report.read_text()).replace("\N{NO-BREAK SPACE}", " ")
    band = page.split('<ul class="glance">')[1].split("</ul>")[0]
    assert "<strong>0.625</strong> Accuracy" in band
    assert "<strong>0.250</strong> F1 of chunks" in band
    assert band.index("always “") < band.index("F1 of chunks"), "the constant answer has no chunks"
    assert "The F1 of its chunks is 25.0 %." in page.split('<ul class="asked">')[1]
    assert "on 3 test sentences" in page.split("</header>")[0]
    assert '<ruby>b<rt class="wrong">B-NP (I-NP)</rt></ruby>' in page
    assert "“b” → B-NP (0.90), gold tag I-NP" in page
