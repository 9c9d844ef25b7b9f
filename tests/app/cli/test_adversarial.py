"""``attest adversarial``: what is refused, what is trained, what is left beside it."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

from attest.app.adversaries import adversary, require_adversary
from attest.app.cli.adversarial import say_who_stayed
from attest.app.cli.main import STOPPED_BY_SIGINT, main
from attest.core.errors import AttestError
from attest.lightning_modules import TrainedAdversary
from attest.runs.dependent_names import CONVENTIONS, AdversaryChoices, parse_adversary, take_adversaries
from attest.runs.folder import RunFolder, read_json, write_json
from tests.finished_runs import ONE_EPOCH, SMALL_RUN, copy_of

pytestmark = pytest.mark.whole("a run from beginning to end")


def adversarial(root, *arguments: str) -> int:
    return main(["adversarial", *SMALL_RUN, f"--run.root={root}", *arguments])


@pytest.fixture(scope="module")
def swept(library) -> RunFolder:
    """The base, with two adversaries in it."""
    return library.run("adversarial")


def adversaries(base: RunFolder) -> dict[float, RunFolder]:
    folders = [RunFolder(path.parent) for path in base.path.glob("adversarial/*/config.yaml")]
    return {yaml.safe_load(run.config.read_text())["model"]["init_args"]["lam"]: run for run in folders}


def test_each_is_a_whole_run_with_its_comparison(swept):
    for run in adversaries(swept).values():
        assert run.complete(["instances", "E7"])
        rows, summary = pd.read_parquet(run.evidence("E7")), read_json(run.summary)
        assert rows["id"].tolist() == list(range(77))
        assert summary["E7/jsd/mean"] == pytest.approx(rows["jsd"].mean())
        page = run.report.read_text()
        assert "Can a model be trained that predicts the same and attends elsewhere?" in page
        assert "E7  How different is the attention of the adversary?" in page


def test_a_larger_lambda_attends_farther_away(swept):
    near, far = (read_json(adversaries(swept)[lam].summary)["E7/jsd/mean"] for lam in (0.1, 5.0))
    assert far > near


def test_the_sweep_lies_beside_them(swept):
    found = read_json(swept.path / "adversarial" / "unfrozen-jsd.json")
    assert [row["lambda"] for row in found["adversaries"]] == [0.1, 5.0]
    assert [row["experiment"] for row in found["baselines"]] == ["E3"]
    page = (swept.path / "adversarial" / "unfrozen-jsd.html").read_text()
    assert page.count("<svg") == 1
    assert "<script" not in page


def test_only_what_is_missing_runs(swept, tmp_path, capsys):
    copy = copy_of(swept, tmp_path)
    kept, gone = (adversaries(copy)[lam] for lam in (0.1, 5.0))
    before, summary = kept.summary.stat().st_mtime_ns, gone.summary.read_bytes()
    shutil.rmtree(gone.path)
    assert adversarial(tmp_path, "LAMBDA=0.1,5", "DIVERGENCE=jsd", *ONE_EPOCH) == 0
    assert f"complete: {kept.path}" in capsys.readouterr().out
    assert kept.summary.stat().st_mtime_ns == before
    assert gone.summary.read_bytes() == summary, "alone as in the sweep"


def test_a_stopped_adversary_is_taken_up_and_ends_as_if_undisturbed(swept, tmp_path, monkeypatch):
    """What is remembered of the base is looked at anew; it must be the same, bit for bit."""
    stopped, undisturbed = (adversaries(base)[5.0] for base in (copy_of(swept, tmp_path), swept))
    shutil.rmtree(stopped.path)
    step = TrainedAdversary.training_step

    def interrupted(self, batch, batch_idx):
        if batch_idx == 6:
            raise KeyboardInterrupt
        return step(self, batch, batch_idx)

    command = ("LAMBDA=5", "DIVERGENCE=jsd", *ONE_EPOCH)
    with monkeypatch.context() as patched:
        patched.setattr(TrainedAdversary, "training_step", interrupted)
        assert adversarial(tmp_path, *command) == STOPPED_BY_SIGINT
    assert stopped.last.is_file()
    assert not stopped.trained
    assert adversarial(tmp_path, *command) == 0
    ours, theirs = (torch.load(run.best, weights_only=True)["state_dict"] for run in (stopped, undisturbed))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert stopped.summary.read_bytes() == undisturbed.summary.read_bytes()
    assert stopped.evidence("E7").read_bytes() == undisturbed.evidence("E7").read_bytes()


def test_an_adversary_that_stayed_with_its_base_is_named_with_what_moves_it(tmp_path, capsys):
    runs = [RunFolder(tmp_path / name) for name in ("frozen-jsd-1", "frozen-jsd-100")]
    for run, divergence in zip(runs, (1e-5, 0.3), strict=True):
        run.path.mkdir()
        write_json(run.summary, {"version": 1, "E7/jsd/mean": divergence})
    say_who_stayed(runs)
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("frozen-jsd-1 attends as its base does")
    assert "larger LAMBDA" in said


def test_its_choices_are_parted_from_the_bases():
    choices, rest = take_adversaries(["DATA=sst", "LAMBDA=1e-4,.5,3", "VARIANT=frozen", "--a=1"])
    assert choices == AdversaryChoices((1e-4, 0.5, 3.0), "frozen", "kl")
    assert choices.name(1e-4) == "frozen-kl-0.0001"
    assert rest == ["DATA=sst", "--a=1"]


def test_another_convention_has_another_folder_and_ours_keeps_its_name():
    names = []
    for convention in CONVENTIONS:
        choices, _ = take_adversaries([f"CONVENTION={convention}"])
        names.append(choices.name(0.2))
        assert parse_adversary(choices.name(0.2)) == (choices, 0.2)
    assert names == ["unfrozen-kl-0.2", "unfrozen-kl-wiegreffe-pinter-0.2", "unfrozen-kl-yang-0.2"]
    assert take_adversaries(["LAMBDA=0.2"])[0].name(0.2) == "unfrozen-kl-0.2"


def test_a_convention_reaches_the_adversary():
    settings = adversary(AdversaryChoices(convention="yang"), 0.2, base()).overlay["model"]["init_args"]
    assert (settings["convention"], settings["lam"]) == ("yang", 0.2)


@pytest.mark.parametrize(
    "mistake",
    [
        "LAMBDA=-1",
        "LAMBDA=nan",
        "VARIANT=frosen",
        "DIVERGENCE=kld",
        "CONVENTION=yangs",
    ],
)
def test_mistakes_are_named(mistake, refusal):
    with refusal():
        take_adversaries([mistake])


def test_a_name_says_which_adversary_it_is(refusal):
    choices, lam = parse_adversary("frozen-smoothed-kl-0.0001")
    assert (choices.name(lam), choices.divergence) == ("frozen-smoothed-kl-0.0001", "smoothed-kl")
    with refusal():
        parse_adversary("unfrozen-kld-1")


def base(projection: str = "Softmax", network: str = "PoolingClassifier", **init_args) -> dict:
    chosen = {"class_path": f"attest.core.attention.{projection}", "init_args": init_args}
    network_settings = {"class_path": f"attest.models.networks.{network}", "init_args": {"projection": chosen}}
    model = {"class_path": "attest.lightning_modules.Classifier", "init_args": {"network": network_settings}}
    return {"model": model, "experiments": {"instances": {}}}


@pytest.mark.parametrize(
    "settings", [base("Sparsemax"), base("Entmax15"), base("Entmax", alpha=1.3), base("Sparsegen", lam=0)]
)
def test_kl_to_a_sparse_base_is_refused_and_says_why(settings, refusal):
    with refusal():
        require_adversary(AdversaryChoices(), settings)
    for divergence in ("jsd", "smoothed-kl"):
        require_adversary(AdversaryChoices(divergence=divergence), settings)


def test_bases_without_attention_to_differ_in_are_refused():
    require_adversary(AdversaryChoices(), base())
    require_adversary(AdversaryChoices(), base("Entmax", alpha=1))
    with pytest.raises(AttestError, match="the projection of the base reads no scores"):
        require_adversary(AdversaryChoices(), base("Uniform"))
    with pytest.raises(AttestError, match=r"TransformerClassifier does not pool .*MODEL=bilstm"):
        require_adversary(AdversaryChoices(), base(network="TransformerClassifier"))


def test_a_base_that_leaves_nothing_to_compare_with_is_refused(refusal):
    with refusal():
        require_adversary(AdversaryChoices(), base() | {"experiments": {"E1": {}, "instances": None}})


def test_a_refusal_comes_before_any_training(tmp_path, capsys):
    assert adversarial(tmp_path / "runs", "PROJECTION=sparsemax") == 2
    errors = capsys.readouterr().err
    assert "DIVERGENCE=jsd" in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_the_columns_of_e7_are_those_that_are_documented(swept):
    text = (Path(__file__).parents[3] / "docs" / "evidence-columns.md").read_text(encoding="utf-8")
    section = text.split("\n## E7\n")[1].split("\n## ")[0]
    documented = {*re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)} - {"nll", "jsd_matched"}  # of taggers
    rows = pd.read_parquet(adversaries(swept)[5.0].evidence("E7"))
    assert {*rows.columns} - {"id", "label", "predicted", "length"} == documented
