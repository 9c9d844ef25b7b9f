"""What an offline W&B run holds, read back from its file."""

import json
import shutil
from pathlib import Path

import pytest
import wandb

from attest.app.cli.main import main
from attest.report.findings import Findings
from attest.report.illustrations import illustrations
from attest.report.tracking.wandb_file import records
from attest.runs.contents import RunContents
from attest.runs.folder import read_json
from attest.runs.identity import identity_of
from tests.finished_runs import SMALL_RUN, only_folder


@pytest.fixture(scope="module")
def logged(small_run):
    wandb.finish()  # W&B writes to the end of its file when the run is over; Lightning leaves that to the end of the process
    (path,) = small_run.path.glob("wandb/offline-run-*/*.wandb")
    return path, list(records(path))


def history(found) -> dict[str, list]:
    """Every logged value by its key; what W&B nests is joined with slashes."""
    values: dict[str, list] = {}
    for record in found:
        for item in record.history.item:
            values.setdefault(item.key or "/".join(item.nested_key), []).append(json.loads(item.value_json))
    return values


def test_the_run_keeps_its_id_name_and_config(small_run, logged):
    found = logged[1]
    (run,) = [record.run for record in found if record.HasField("run")]
    assert run.run_id == read_json(small_run.timing)["wandb_id"]
    assert run.display_name == str(small_run.path.relative_to(small_run.path.parents[2]))
    keys = {item.key or item.nested_key[0] for record in found for item in record.config.update}
    keys |= {item.key for item in run.config.update}
    assert {"model", "data", "trainer", "experiments"} <= keys


def scalars(values) -> dict[str, list]:
    """Of the logged values those that are numbers, and not W&B's own."""
    media = {key.removesuffix("/_type") for key in values if key.endswith("/_type")}
    return {
        key: value
        for key, value in values.items()
        if not key.startswith("_") and not any(key.startswith(f"{m}/") for m in media)
    }


def test_some_thirty_numbers_are_followed_and_none_has_one_point_alone(logged):
    followed = scalars(history(logged[1]))
    assert 20 <= len(followed) <= 40
    assert {"validation/roc_auc", "E1/validation/tau_gradient_inputs/mean", "train/learning_rate"} <= followed.keys()
    assert {len(points) for name, points in followed.items() if "validation" in name} == {2}
    assert len(followed["train/gradient_norm"]) == len(followed["train/loss"]) > 1


def test_everything_else_is_summary_or_table(small_run, logged):
    path, found = logged
    values, summary = history(found), summary_of(found)
    ours = read_json(small_run.summary)
    assert summary["E2/tvd_median/mean"] == ours["E2/tvd_median/mean"]
    assert summary["test/accuracy"] == ours["test/accuracy"]
    numbers = json.loads((path.parent / "files" / values["numbers/path"][0]).read_text())
    assert dict(numbers["data"]).keys() == ours.keys() - {"verdict"}
    assert summary["verdict/tokens"] == ours["verdict"]["tokens"]["sentence"]
    epochs = json.loads((path.parent / "files" / values["epochs/path"][0]).read_text())
    assert len(epochs["data"]) == 2
    assert {*read_json(small_run.curves)[0]} == {*epochs["columns"]}


def summary_of(found) -> dict:
    updates = (item for record in found for item in record.summary.update)
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in updates}


def test_tables_figures_and_report_are_there(logged):
    values = history(logged[1])
    kinds = {key.removesuffix("/_type"): value[0] for key, value in values.items() if key.endswith("/_type")}
    assert kinds["E1/table"] == kinds["E2/table"] == "table-file"
    assert kinds["report"] == "html-file"


def test_a_run_has_one_table_an_experiment_and_four_other_panels_beside_its_figures(small_run, logged):
    media = {key.removesuffix("/_type") for key in history(logged[1]) if key.endswith("/_type")}
    tables = {f"{path.stem}/table" for path in small_run.evidence("E1").parent.glob("*.parquet")}
    assert {key for key in media if not key.startswith("figures/")} == tables | {"report", "numbers", "epochs", "texts"}


def test_every_figure_is_a_picture_in_a_panel_of_its_own_with_its_caption(small_run, logged):
    path, found = logged
    values = history(found)
    drawn = {each.key: each.caption for each in illustrations(Findings(small_run))}
    assert len(drawn) > 5
    for key, caption in drawn.items():
        assert values[f"figures/{key}/_type"] == ["image-file"]
        assert values[f"figures/{key}/caption"] == [caption]
        (file,) = values[f"figures/{key}/path"]
        picture = small_run.figures / f"{key.replace('/', '-', 1)}.png"
        assert (path.parent / "files" / file).read_bytes() == picture.read_bytes()


def test_the_summary_says_the_shares_of_attention_of_what_to_read_and_of_chance(small_run, logged):
    summary, verdict = summary_of(logged[1]), read_json(small_run.summary)["verdict"]["tokens"]
    assert summary["verdict/tokens/answer"] == verdict["answer"]
    assert summary["verdict/tokens/recommended/reading"] == verdict["instead"]["reading"]
    theirs = {"": verdict | {"value": verdict["share"]}, "random/": verdict["random"], "recommended/": verdict["instead"]}
    for whose, share in theirs.items():
        found = [summary[f"verdict/tokens/{whose}{part}"] for part in ("share", "low", "high", "n")]
        assert found == [share["value"], share["low"], share["high"], share["texts"]]


def test_the_run_says_its_group_job_and_tags(small_run, logged):
    (run,) = [record.run for record in logged[1] if record.HasField("run")]
    assert (run.run_group, run.job_type, list(run.tags)) == (
        identity_of(RunContents(small_run)).setting,
        "base",
        ["planted", "bilstm"],
    )


@pytest.mark.whole("a run from beginning to end")
def test_a_run_that_is_taken_up_goes_on_as_the_same(small_run, tmp_path, logged):
    shutil.copytree(small_run.path.parents[2], tmp_path, dirs_exist_ok=True)
    copy = only_folder(tmp_path)
    copy.summary.unlink()
    wandb.teardown()  # a sitting is a process of its own: W&B's service knows nothing of runs of this id in earlier tests
    assert main(["fit", *SMALL_RUN, f"--run.root={tmp_path}"]) == 0
    wandb.teardown()
    sittings = sorted(copy.path.glob("wandb/offline-run-*/*.wandb"))
    runs = [record.run for path in sittings for record in records(path) if record.HasField("run")]
    assert len(sittings) == 2
    assert len({(run.run_id, run.run_group, run.display_name) for run in runs}) == 1
    first, second = ([record.history.step.num for record in records(path) if record.HasField("history")] for path in sittings)
    assert first == [*range(len(first))]
    assert second[0] == len(first), "W&B would draw the second sitting over the first"


def test_values_of_an_epoch_are_drawn_against_epochs(logged):
    axes = {record.metric.name: record.metric.step_metric for record in logged[1] if record.HasField("metric")}
    steps = {name: axes[name] for name in axes if "validation" in name}
    assert {"validation/loss", "E1/validation/tau_gradient_inputs/mean", "E2/validation/tvd_median/mean"} <= steps.keys()
    assert {*steps.values()} == {"epoch"}
    assert len(history(logged[1])["epoch"]) >= 2


def test_model_and_evidence_are_artifacts_that_name_each_other(small_run, logged):
    artifacts = {record.artifact.type: record.artifact for record in logged[1] if record.HasField("artifact")}
    wandb_id = read_json(small_run.timing)["wandb_id"]
    contents = {kind: {entry.path for entry in artifacts[kind].manifest.contents} for kind in ("model", "evidence")}
    assert contents["model"] == {"checkpoints/best.ckpt", "config.yaml"}
    assert {"evidence/E3.parquet", "evidence/instances.parquet", "summary.json", "report.html"} <= contents["evidence"]
    assert "figures/E2-permutation_by_max_attention.svg" in contents["evidence"]
    assert artifacts["model"].name == f"model-{wandb_id}"
    assert json.loads(artifacts["evidence"].metadata)["model"] == f"model-{wandb_id}"
    (checkpoint,) = [entry for entry in artifacts["model"].manifest.contents if entry.path.endswith(".ckpt")]
    assert Path(checkpoint.local_path).samefile(small_run.best), "not a second copy"


def test_the_logged_table_has_a_row_an_instance(logged):
    path, found = logged
    (file,) = history(found)["E2/table/path"]
    table = json.loads((path.parent / "files" / file).read_text())
    assert "tvd_median" in table["columns"]
    assert len(table["data"]) == 77
