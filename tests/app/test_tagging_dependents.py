"""Adversaries and controls of a tagger, from files of the user's own to the tables."""

import json
import random
from pathlib import Path

import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.runs.folder import RunFolder, read_json
from tests.finished_runs import only_folder, without

SHORT = ("--", "--trainer.max_epochs=2")
UNASKED = ("E2", "E3", "E8", "E9", "E13")
TAGS = {"the": "B-NP", "a": "B-NP", "cat": "I-NP", "dog": "I-NP", "sees": "B-VP", "likes": "B-VP", ".": "O"}


def sentences(count: int, seed: int) -> str:
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        words = draw.choices(list(TAGS), k=draw.randint(2, 7))
        lines.append(json.dumps({"words": words, "tags": [TAGS[word] for word in words]}))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def typed(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("tagging")
    for split, count in (("train", 60), ("validation", 20), ("test", 21)):
        (folder / f"{split}.jsonl").write_text(sentences(count, len(split)))
    files = [f"--data.init_args.{split}={folder}/{split}.jsonl" for split in ("train", "validation", "test")]
    small = [f"--model.init_args.network.init_args.{name}=8" for name in ("size", "feedforward_size", "embedding_size")]
    quiet = ["--trainer.max_epochs=2", "--trainer.enable_progress_bar=false", "LOGGER=csv", f"--run.root={folder}/runs"]
    return ["DATA=files", "MODEL=tagger", *files, *small, *quiet, "--run.processes=1", *without(*UNASKED)]


def the_base(typed: list[str]) -> RunFolder:
    root = typed[[each.startswith("--run.root") for each in typed].index(True)].partition("=")[2]
    (tagged,) = Path(root).glob("files/ya-tagger-none-softmax-*/seed0/evidence/tagged.parquet")
    return RunFolder(tagged.parents[1])


@pytest.mark.whole("three commands in a row, seven trainings")
def test_the_base_says_of_one_tag_a_sentence_what_it_hangs_on(typed):
    assert main(["fit", *typed]) == 0
    rows = pd.read_parquet(the_base(typed).evidence("E14"))
    assert (rows["token"] < rows["length"]).all()
    assert rows["token"].nunique() > 1
    for operator in ("attention", "delete", "mask", "resample"):
        assert rows[f"win_comprehensiveness_{operator}"].between(0, 1).all()


@pytest.mark.whole("a run from beginning to end")
def test_erasure_and_what_decides_run_at_validation_end_where_they_are_asked_for(typed, tmp_path):
    asked = [f"--experiments.{name}.every_n_epochs=1" for name in ("E14", "E19")]
    assert main(["fit", *typed, *asked, f"--run.root={tmp_path}"]) == 0
    first, second = read_json(only_folder(tmp_path).curves)
    for epoch in (first, second):
        assert 0 <= epoch["E14/validation/win_comprehensiveness_attention/mean"] <= 1
        assert 0 <= epoch["E19/validation/needs_words/mean"] <= 1
    assert first != second


@pytest.mark.whole("three commands in a row, seven trainings")
def test_a_sweep_over_lambda_is_compared_with_its_base(typed):
    assert main(["adversarial", *typed, "LAMBDA=0.2,3", *SHORT]) == 0
    base = the_base(typed)
    found = read_json(base.path / "adversarial" / "unfrozen-kl.json")["adversaries"]
    assert [row["lambda"] for row in found] == [0.2, 3.0]
    assert all({"chunk_f1", "nll", "kl", "jsd", "jsd_matched", "same"} <= row.keys() for row in found)
    for row in found:
        rows = pd.read_parquet(RunFolder(base.path / "adversarial" / row["run"]).evidence("E7"))
        assert len(rows) == 21
        assert rows["kl"].mean() == pytest.approx(row["kl"])


@pytest.mark.whole("three commands in a row, seven trainings")
def test_controls_probe_it_with_attention_of_others(typed):
    assert main(["controls", *typed, "SEEDS=1", "LAMBDA=3", *SHORT]) == 0
    base = the_base(typed)
    rows = {row["name"]: row for row in read_json(base.path / "controls" / "summary.json")["rows"]}
    assert list(rows) == [
        "the base itself", "uniform attention", "seed 1", "guide: base's attention", "guide: adversary's attention, λ = 3"
    ]  # fmt: skip
    assert rows["guide: base's attention"]["jsd"] == pytest.approx(0, abs=1e-9)
    assert rows["seed 1"]["jsd"] > 0
    assert "How far apart is attention when only the seed differs?" in base.report.read_text()


@pytest.mark.whole("a base and a probe are trained, if the commands above were not typed")
def test_a_probe_of_weighted_states_is_trained_beside_the_other(typed):
    assert main(["controls", *typed, "GUIDE=base", "PROBE=states", *SHORT]) == 0
    base = the_base(typed)
    (probe,) = (base.path / "guides").glob("states-base*")
    rows = pd.read_parquet(RunFolder(probe).evidence("E6"))
    assert rows["jsd"].mean() == pytest.approx(0, abs=1e-9), "it attends as the base does"
    assert rows["tvd"].mean() > 0
