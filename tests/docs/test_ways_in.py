"""Every way in of the page runs as it stands, and all give the same tables, bit for bit."""

import re
import shlex
from pathlib import Path

import datasets
import pandas as pd
import pytest
import transformers
from torch import nn

import attest
from attest.app.cli.main import main
from tests.models.pretrained.tiny import TEXTS

PAGE = Path(__file__).parents[2] / "docs" / "ways-in.md"
LABELS = [1, 0, 0, 0, 1]
BLOCK = re.compile(r"```(python|bash)\n(.*?)```", re.DOTALL)


def ways():
    """The snippets of each numbered way, by its heading."""
    parts = re.split(r"^## (\d+ .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: BLOCK.findall(text.partition("\n## ")[0]) for name, text in zip(parts[::2], parts[1::2], strict=True)}


class Module(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model


@pytest.fixture
def known(model, tokenizer, tmp_path, monkeypatch):
    """What a reader of the page has."""
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("my-model")
    tokenizer.save_pretrained("my-model")
    rows = pd.DataFrame({"text": TEXTS, "label": [("bad", "good")[each] for each in LABELS]})
    rows.to_csv("reviews.csv", index=False)
    arguments = transformers.TrainingArguments(
        "out", num_train_epochs=1, learning_rate=0.0, report_to="none", use_cpu=True, save_strategy="no", disable_tqdm=True
    )
    return {
        "attest": attest, "transformers": transformers, "pandas": pd, "datasets": datasets, "model": model,
        "tokenizer": tokenizer, "texts": TEXTS, "labels": LABELS, "module": Module(model), "arguments": arguments,
        "rows": [dict(tokenizer(text), labels=1) for text in TEXTS[:2]],
    }  # fmt: skip


@pytest.fixture(scope="module")
def plain(model, tokenizer):
    return attest.trial(model, TEXTS, ["E1", "E2"], tokenizer=tokenizer, labels=LABELS, progress=False)


def test_there_are_eleven():
    assert [int(name.partition(" ")[0]) for name in ways()] == [*range(1, 12)]


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("way", ways())
def test_every_way_gives_the_same_tables(way, plain, known, capfd):
    for language, snippet in ways()[way]:
        if language == "bash":
            command, _, file = snippet.strip().partition(" > ")
            capfd.readouterr()
            assert main(shlex.split(command)[1:]) == 0
            assert capfd.readouterr().out == Path("runs/mine", file).read_text()
            known["trial"] = attest.open_run("runs/mine")
        else:
            exec(snippet, known)
        for experiment in plain.experiments:
            pd.testing.assert_frame_equal(known["trial"].table(experiment), plain.table(experiment), check_exact=True)
