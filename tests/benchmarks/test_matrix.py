"""A sample of the matrix of models, and the form of its page."""

import re
from itertools import product

import pytest

from benchmarks import matrix
from benchmarks.matrix import ARCHITECTURES, AXES, PAGE, Cell, alone, outcome, page, paired


@pytest.mark.parametrize(
    ("cell", "kind", "found"),
    [
        (Cell("DeBERTa-v3", "pair", "float16", "LoRA"), "agrees", "from its own"),
        (Cell("Bloom", "multi-label", "bfloat16", "sharded"), "agrees", "from its own"),
        (Cell("GPT-2", "tagger", "float32", "plain", "SDPA"), "agrees", "from its own"),
        (Cell("BERT", "pair", form="wrapped", attention="SDPA"), "agrees", "from its own"),
        pytest.param(
            *(Cell("ModernBERT", "softmax", form="compiled"), "agrees", "from its own"),
            marks=pytest.mark.whole("a model that is compiled"),
        ),
        (Cell("BERT", "multi-label", form="wrapped"), "refused", "expected the inner model itself"),
        (Cell("BERT", "one number", form="wrapped"), "refused", "expected the inner model itself"),
        (Cell("Longformer"), "refused", "none of its softmax calls"),
        (Cell("nn.TransformerEncoder", form="LoRA"), "refused", "the fast path"),
        (Cell("MPNet", attention="SDPA"), "impossible", "has no SDPA"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, Cell) else "",
)
def test_a_cell_is_the_model_itself_or_a_sentence(cell, kind, found):
    got = outcome(cell)
    assert got[0] == kind, got
    assert found in got[1]


def test_a_table_that_is_not_the_models_own_is_neither(monkeypatch):
    monkeypatch.setattr(matrix, "own_logits", lambda model, reads, cell: [own + 1 for own in OWN_LOGITS(model, reads, cell)])
    assert outcome(Cell("BERT", "multi-label"))[0] == "neither"


OWN_LOGITS = matrix.own_logits


def test_every_pair_of_values_is_walked():
    chosen = paired([Cell(*values) for values in product(("BERT", "GPT-2"), *AXES.values())])
    assert len(chosen) < 60
    for first, second in [("head", "form"), ("precision", "attention"), ("architecture", "head"), ("form", "precision")]:
        values = AXES | {"architecture": ("BERT", "GPT-2")}
        expected = {(one, other) for one in values[first] for other in values[second]}
        assert {(getattr(cell, first), getattr(cell, second)) for cell in chosen} == expected


def test_the_page_shows_a_mark_or_a_reason_in_each_place():
    cells = [*alone("BERT"), Cell("BERT", "pair", "float16"), Cell("BERT", "tagger", "float16")]
    outcomes = dict.fromkeys(cells, ("agrees", "1e-08 from its own"))
    outcomes[Cell("BERT", "pair")] = "refused", "no pairs"
    outcomes[Cell("BERT", "pair", "float16")] = "refused", "no pairs of halves"
    outcomes[Cell("BERT", "tagger", "float16")] = "refused", "no <tags>"
    shown = page(outcomes)
    row = next(line for line in shown.splitlines() if line.startswith("| BERT"))
    assert row.count("✓") == 14
    assert "– [1](#reasons)" in row
    assert "* BERT, pair, float16, plain, eager: – [2](#reasons)" in shown
    assert "* BERT, tagger, float16, plain, eager: – [3](#reasons)" in shown
    assert "1. no pairs\n2. no pairs of halves\n3. no &lt;tags>\n" in shown


def test_the_written_page_is_whole():
    """Every architecture has a row, every value a column, and nothing is neither the model nor a sentence."""
    written = PAGE.read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in written.splitlines() if line.startswith("| ")]
    assert [row[0].removeprefix("| ") for row in rows[2:]] == list(ARCHITECTURES)
    assert {len(row) for row in rows} == {1 + sum(map(len, AXES.values()))} | {len(rows[1])}
    numbers = {int(number) for number in re.findall(r"\[(\d+)\]\(#reasons\)", written)}
    assert numbers == {*range(1, max(numbers) + 1)}
    assert len(re.findall(r"^\d+\. ", written, re.MULTILINE)) == max(numbers)
    assert "; 0 are neither." in written
    assert re.search(r"With torch [\d.]+.*, transformers [\d.]+, peft [\d.]+:", written)
