"""The examples do what they say: the notebook's cells run in order, the script leaves its report."""

import ast
import runpy
from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def carry_out(cell: str, names: dict) -> object:
    """Run a cell in a namespace; returns the value of its last line, as a notebook shows it."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs_and_shows_what_it_announces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(EXAMPLES / "attention_on_trial.ipynb", as_version=4)
    nbformat.validate(notebook)
    names: dict = {}
    shown = [carry_out(cell.source, names) for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(hasattr(value, "_repr_html_") for value in shown) == 5, "run, description, text, trial, rows"
    assert names["run"].summary["test/accuracy"] > 0.9
    assert {"E2", "E3", "E12"} <= names["trial"].answers.keys()
    assert (tmp_path / "trial.html").is_file()


def test_the_notebook_is_stored_without_outputs():
    notebook = nbformat.read(EXAMPLES / "attention_on_trial.ipynb", as_version=4)
    assert not any(cell.outputs or cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


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

    from attest.pretrained.loading import load
    from tests.pretrained.tiny import tiny

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
