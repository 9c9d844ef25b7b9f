"""Tagged sentences, as the report of a tagger shows them."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from attest.report.explained import words_of
from attest.report.findings import Findings
from attest.report.instance_table import ROWS as ROWS_SHOWN
from attest.report.instance_table import (
    SENTENCES,
    TEXT_BYTES,
    as_script_data,
    sentence_table,
    shown_sentences,
    tagged_sentences,
)
from attest.report.page import write_report
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_table, write_table
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


def with_table(path, rows=ROWS):
    folder = RunFolder(path)
    write_table(folder.evidence("tagged"), rows)
    return RunContents(folder)


@pytest.fixture
def run(tmp_path):
    return with_table(tmp_path)


def shown_of(run):
    return shown_sentences(run, tagged_sentences(run))


def test_they_are_spread_from_the_worst_to_the_best_with_the_gold_tag_where_a_word_is_wrong(run):
    shown = shown_of(run)
    assert [each["id"] for each in shown] == [2, 4, 9]
    assert [each["right"] for each in shown] == [0, 0.75, 1]
    assert shown[1]["tags"] == [("B-NP", None), ("B-NP", "I-NP"), ("O", None), ("B-NP", None), None]


def test_the_attention_is_that_of_wrong_words_and_of_those_least_sure_in_their_order(run, snapshot):
    """Word e is of no tag, so it is not asked about, however unsure the model is of it."""
    shown = shown_of(run)[1]["explanations"]
    assert [each.name for each in shown] == snapshot
    for word, each in enumerate(shown):
        np.testing.assert_allclose(each.weights, ATTENTION[word], rtol=1e-6)
    assert shown[1].top(words_of({"tokens": [*"abcde"]})) == [("e", 1.0)]


@pytest.mark.parametrize("rows", [None, ROWS.drop(columns="tokens"), ROWS.drop(columns="attention")])
def test_there_are_none_where_words_or_attention_are_not_stored(tmp_path, rows):
    run = RunContents(RunFolder(tmp_path)) if rows is None else with_table(tmp_path, rows)
    assert tagged_sentences(run) is None


def test_attention_is_read_of_the_sentences_that_are_shown_alone(tmp_path, monkeypatch):
    many = pd.concat([ROWS] * 40, ignore_index=True).assign(id=np.arange(120))
    run = with_table(tmp_path, many)
    whole, some = [], []

    def recorded(path, names=None, ids=None):
        whole.append(names)
        some.extend(ids or [])
        return read_table(path, names, ids)

    for module in ("runs.contents", "report.instance_table"):
        monkeypatch.setattr(f"attest.{module}.read_table", recorded)
    shown = shown_of(run)
    assert "attention" not in whole[0]
    assert not [name for name in whole[0] if name.startswith("probability_")]
    assert [each["id"] for each in shown] == some
    assert len(some) == SENTENCES


def test_every_sentence_stands_in_a_table_with_its_f1_of_chunks_and_its_tags(run):
    """By hand: sentence 4 has two chunks, three are predicted, one agrees; 9 has one, as predicted; 2 lacks its."""
    experiments = {"E2": pd.DataFrame({"id": [2, 4], "tvd_median": [0.25, 0.5]})}
    found = sentence_table(tagged_sentences(run), experiments, NAMES)
    names = [column["name"] for column in found["columns"]]
    assert names[:3] == ["right", "F1 of chunks", "words"]
    assert [row[:5] for row in found["rows"]] == [
        [4, "a b c d e", 0.75, pytest.approx(0.4), 4],
        [2, "a b", 0, 0, 2],
        [9, "a b", 1, 1, 2],
    ]
    assert [row[-1] for row in found["rows"]] == [0.5, 0.25, None]
    assert found["texts"][4]["tags"] == [[1, 1], [1, 2], [0, 0], [1, 1], None]
    assert json.loads(as_script_data(found))["total"] == 3


def test_tags_that_are_no_chunks_have_no_f1_of_chunks(run):
    found = sentence_table(tagged_sentences(run), {}, ["DET", "NOUN", "VERB"])
    assert [column["name"] for column in found["columns"]] == ["right", "words"]


@pytest.mark.whole("a report of many sentences")
def test_the_table_of_many_sentences_is_bounded():
    words = 60
    row = {"tokens": ["word"] * words, "tags": np.full(words, 12), "predicted_tags": np.full(words, 11)}
    many = pd.DataFrame([row | {"id": each} for each in range(26_000)])
    found = sentence_table(many, {}, ["DET"] * 13)
    assert (len(found["rows"]), found["total"]) == (ROWS_SHOWN, 26_000)
    assert len(as_script_data(found["texts"])) < 1.1 * TEXT_BYTES
    assert len(found["texts"]) < 5000


def test_the_page_of_a_tagger_has_its_f1_in_the_head_and_its_sentences(tmp_path):
    run = made_run(tmp_path / "conll2000" / "ya-tagger" / "seed0", {"test/accuracy": 0.625, "test/chunk_f1": 0.25}, ROWS)
    write_report(Findings(run), figures=[])
    page = html.unescape(run.report.read_text()).replace("\N{NO-BREAK SPACE}", " ")
    band = page.split('<ul class="glance">')[1].split("</ul>")[0]
    assert re.search(r'<strong>0\.625<span class="interval"> \[[\d., ]+\]</span></strong> Accuracy', band)
    assert re.search(r'<strong>0\.250<span class="interval"> \[[\d., ]+\]</span></strong> F1 of chunks', band)
    assert band.index("always “") < band.index("F1 of chunks"), "the constant answer has no chunks"
    assert "The F1 of its chunks is 25.0 % [" in page.split('<ul class="asked">')[1]
    assert "on 3 test sentences" in page.split("<nav")[0]
    assert '<ruby>b<rt class="wrong">B-NP (I-NP)</rt></ruby>' in page
    assert "“b” → B-NP (0.90), gold tag I-NP" in page
    assert 'href="#instances">Every sentence</a>' in page
    assert "Filter the sentences" in page
