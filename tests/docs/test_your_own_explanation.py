"""The pages on explanations and marked words run as they stand, and come to an answer."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from attest.app.cli.main import main
from tests.models.pretrained.tiny import TEXTS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "your-own-explanation.md", DOCS / "marked-words.md"]


@pytest.mark.whole("pages whose code trains")
def test_the_pages_run(model, tokenizer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("my-model")
    tokenizer.save_pretrained("my-model")
    pd.DataFrame({"text": TEXTS, "label": ["bad", "good", "bad", "bad", "good"]}).to_csv("reviews.csv", index=False)
    marks = [[int(place == 1) for place, _ in enumerate(text.split())] for text in TEXTS]
    names = {
        "rationales": marks,
        "model": model,
        "tokenizer": tokenizer,
        "texts": TEXTS,
        "values": [[*map(len, text.split())] for text in TEXTS],
    }
    trials = []
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for kind, block in re.findall(r"```(python|bash)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "bash":
            assert main([*shlex.split(block)[1:], "--processes=1"]) == 0
            assert "Explanation shap: one number for each word" in capsys.readouterr().out
        else:
            exec(compile(block, "the pages", "exec"), names)
            trials += [names["trial"]] if "attest.trial(" in block else []
    first, second, third, marked = trials
    assert 0 < marked.summary["E15/plausible_auprc_shap/mean"] <= 1
    assert {"win_comprehensiveness_shap", "win_comprehensiveness_rollout"} <= set(first.table("E15"))
    assert "win_comprehensiveness_lrp" not in first.table("E15")
    pd.testing.assert_series_equal(
        second.table("E15")["win_comprehensiveness_length"],
        first.table("E15")["win_comprehensiveness_shap"],
        check_names=False,
    )
    assert third.settings["trial"]["explanation"] == "shap"
