"""The examples do what they say: the notebooks show what they compute, the script leaves its report."""

import re
import runpy
from pathlib import Path

import nbformat
import pytest

from docs.notebook import NOTEBOOKS, executed, values

EXAMPLES = Path(__file__).parents[2] / "examples"


NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w-])")
OTHER_MACHINES = {"rel": 1e-2, "abs": 1e-3}
"""How far rounding on another processor may move a number that a notebook shows."""
ONE_TEXT = 2
"""How many points it may move a share of 79 texts: one of them is 1.3 points, and each share is rounded to a point."""


MACHINES = re.compile(r"/(?:home|root|tmp|Users|work|var|mnt)/|[A-Z]:\\\\")
"""Paths of somebody's machine."""
TRIAL, TEACHING = NOTEBOOKS
WORDS = {"charming": (8, True), "not": (0, True), "not recent": (39, False)}
"""By what decides or is marked in it: each text of the rounds, and whether the notebook says that attention is right."""


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def again(request, tmp_path_factory):
    """A notebook, executed once more, and the folder in which that was done."""
    folder = tmp_path_factory.mktemp("notebook")
    return request.param, executed(request.param, folder), folder


def numbers(shown):
    """The shares in a text in percent, and its other numbers."""
    found = [(float(each[0]), bool(re.match(r"\s*%", shown[each.end() :]))) for each in NUMBER.finditer(shown)]
    return [number for number, share in found if share], [number for number, share in found if not share]


def codes(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def drawn(cell):
    """Whether a cell ends with a picture: a text in two rows, or an SVG."""
    data = cell.outputs[-1].data
    return "image/svg+xml" in data or "box-shadow:" in data.get("text/html", "")


@pytest.mark.whole("a notebook with a kernel of its own")
def test_a_notebook_shows_what_it_computes(again):
    path, now, folder = again
    stored = nbformat.read(path, as_version=4)
    for one, other in zip(values(stored), values(now), strict=True):
        assert NUMBER.sub("#", other).split() == NUMBER.sub("#", one).split()
        (shares, others), (stored_shares, stored_others) = numbers(other), numbers(one)
        assert shares == pytest.approx(stored_shares, rel=0, abs=ONE_TEXT)
        assert others == pytest.approx(stored_others, **OTHER_MACHINES)
    assert (folder / "trial.html").is_file() == (path == TRIAL)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_is_whole_and_names_no_machine(path):
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert [cell.execution_count for cell in codes(stored)] == [*range(1, len(codes(stored)) + 1)], "executed in order"
    assert not [output for cell in codes(stored) for output in cell.outputs if output.output_type == "error"]
    for cell in codes(stored):
        for output in cell.outputs:
            said = [output.get("text", ""), *output.get("data", {}).values()]
            assert not [each for each in said if MACHINES.search(re.sub(r"base64,[\w+/=]*", "", each))]
    links = [
        link for cell in stored.cells if cell.cell_type == "markdown" for link in re.findall(r"\]\((\S+?)\)", cell.source)
    ]
    assert links
    assert all((EXAMPLES / link).is_file() for link in links)


def test_the_notebook_of_a_trial_opens_with_five_pictures():
    first = codes(nbformat.read(TRIAL, as_version=4))[:5]
    assert [drawn(cell) for cell in first] == [True] * 5
    assert [cell.source.splitlines()[-1] for cell in first] == [
        *("trial", "trial.verdict", "trial.explain(3)", "trial.readings()", "trial.groups()"),
    ]


def test_each_round_of_the_lesson_asks_before_it_shows():
    cells = nbformat.read(TEACHING, as_version=4).cells
    asked = [place for place, cell in enumerate(cells) if "**Predict.**" in cell.source]
    assert len(asked) >= 4
    for place in asked:
        assert cells[place + 1].cell_type == "code"
        assert drawn(cells[place + 1])
        assert cells[place + 2].source.startswith("**Why")


def test_the_lesson_says_of_its_texts_what_was_measured():
    """Its sentences are typed, so each outcome that they name is held to what the stored cells show."""
    stored = codes(nbformat.read(TEACHING, as_version=4))
    cells = {cell.source: cell.outputs[-1].data for cell in stored if cell.outputs}
    for words, (text, right) in WORDS.items():
        before, after = (cells[f"{name}.explain({text})"]["text/html"] for name in ("marked", "measured"))
        assert "What decides in this text was not measured." in before
        assert f"<strong>{'Right' if right else 'Wrong'}.</strong>" in after
        assert f"“{words}”" in after
    assert cells["measured.verdict"]["text/plain"].startswith("'Yes.")
    assert cells["other.verdict"]["text/plain"].startswith("'In part.")


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
