"""A tagger reads sentences, and its page says so: no heading, caption or description of a measure speaks of texts."""

import re

import numpy as np
import pandas as pd

from attest.core.kinds import CLASSES, TAGS
from attest.experiments.registry import EXPERIMENTS, measures
from attest.experiments.stopping import ALL, READ
from attest.experiments.verdict import NOT_LEARNED, Verdict
from attest.report.findings import Findings
from attest.report.illustrations import evidence_illustrations, illustrations
from attest.runs.folder import MAPS, write_table
from tests.report.made import made_run, tagged

TEXT = re.compile(r"\btexts?\b", re.IGNORECASE)


def every_number(path):
    """A tagger's run with a mean of every measure that there is, of experiments that stopped early."""
    means = {f"{key}/mean": 0.5 for key in measures()}
    read = {f"{name}/{count}": 20 for name in EXPERIMENTS for count in (READ, ALL)}
    rows = tagged([[0, 1]] * 20, [[0, 1]] * 20)
    return made_run(path / "mine" / "one" / "seed0", {"test/accuracy": 0.9} | means | read, rows)


def test_no_measure_speaks_of_texts(tmp_path):
    lines = [line for group in Findings(every_number(tmp_path)).measured for line in group.lines]
    assert len(lines) > len(measures())
    said = [" ".join((line.name, line.means, line.misread, line.detail)) for line in lines]
    assert [each for each in said if TEXT.search(each)] == []
    assert any("Share of the sentences that need words" in each for each in said)
    assert any("20 of 20 sentences" in each for each in said)


def test_no_title_or_caption_speaks_of_texts(tmp_path):
    folder = every_number(tmp_path)
    maps = {"id": [7], "tokens": [["a", "b"]], "original_layer1": [np.full(4, 0.5)]}
    write_table(folder.evidence(MAPS), pd.DataFrame(maps))
    assert [each.title for each in illustrations(Findings(folder))] == ["Attention maps, sentence 7"]
    needed = {
        name: pd.DataFrame(columns=[TAGS.predicted, *(need for each in spec.drawings for need in each.needs)])
        for name, spec in EXPERIMENTS.items()
        if all(isinstance(each.caption, str) for each in spec.drawings)
    }
    captions = [f"{each.title} {each.caption}" for each in evidence_illustrations(needed, ["N", "V"], TAGS)]
    assert captions
    assert [each for each in captions if TEXT.search(each)] == []


def test_no_answer_speaks_of_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(Findings, "learned", False)
    found = Findings(every_number(tmp_path))
    assert "better than chance on these sentences" in found.unanswered
    found.__dict__["verdict"] = Verdict(NOT_LEARNED, None, None, 20)
    assert "better than chance on these sentences" in found.sentences[0]


def test_only_whole_words_are_exchanged():
    said = "Mean over texts: the text, in context."
    assert TAGS.worded(said) == "Mean over sentences: the sentence, in context."
    assert CLASSES.worded(said) == said
