"""The examples do what they say: the notebook shows what it computes, the script leaves its report."""

import re
import runpy
from pathlib import Path

import nbformat
import pytest

from docs.notebook import NOTEBOOKS, executed, values

EXAMPLES = Path(__file__).parents[2] / "examples"


NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w-])")
OTHER_MACHINES = {"rel": 1e-2, "abs": 1e-3}
"""How far rounding elsewhere may move a number that the notebook shows; here all are equal."""


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The notebook, executed once more, and the folder in which that was done."""
    folder = tmp_path_factory.mktemp("notebook")
    return executed(NOTEBOOK, folder), folder


@pytest.mark.whole("a notebook with a kernel of its own")
def test_the_notebook_shows_what_it_computes(again):
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    assert len(values(stored)) == sum(cell.cell_type == "code" for cell in stored.cells)
    for was, now in zip(values(stored), values(again[0]), strict=True):
        assert NUMBER.sub("#", now).split() == NUMBER.sub("#", was).split()
        assert [*map(float, NUMBER.findall(now))] == pytest.approx([*map(float, NUMBER.findall(was))], **OTHER_MACHINES)


@pytest.mark.whole("a notebook with a kernel of its own")
def test_the_notebook_trains_asks_and_leaves_its_report(again):
    notebook, folder = again
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("text/html" in output.data for output in shown) == 5, "run, description, text, trial, rows"
    assert {"E2", "E3", "E12"} <= {line.split()[0] for line in values(notebook)[4].splitlines()}
    assert (folder / "trial.html").is_file()


@pytest.mark.whole("a script that trains a model")
def test_the_script_trains_a_model_and_leaves_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(EXAMPLES / "trial_of_your_own_model.py"), run_name="__main__")
    assert names["trial"].summary["test/accuracy"] > 0.9
    said = capsys.readouterr().out
    assert "Trial of Pooled on 60 texts" in said
    assert "Another attention, same prediction" in said
    assert "label praise" in (tmp_path / "trial.html").read_text(encoding="utf-8")


def test_a_transformer_is_fine_tuned_and_can_be_put_on_trial(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra transformers")
    from transformers import BertTokenizerFast

    from attest.models.pretrained.loading import load
    from tests.models.pretrained.tiny import tiny

    base, words = tmp_path / "base", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fine", "dull", "film"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(base)
    tiny("bert", vocab_size=len(words)).bert.save_pretrained(base)
    (tmp_path / "train.csv").write_text("text,label\n" + "fine film,good\ndull film,bad\n" * 64)
    names = runpy.run_path(str(EXAMPLES / "fine_tune_a_transformer.py"))
    names["fine_tune"](str(base), tmp_path / "train.csv", tmp_path / "tuned")
    model, tokenizer = load(str(tmp_path / "tuned"))
    assert model.config.id2label == {0: "bad", 1: "good"}
    assert tokenizer("fine film")["input_ids"] == [2, 5, 7, 3]
