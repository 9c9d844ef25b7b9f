"""The examples do what they say: the notebook's cells run in order, the script leaves its report."""

import ast
import runpy
from pathlib import Path

import nbformat

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
