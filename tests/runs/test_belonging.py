"""What belongs together is compared by every command that reads a run: checkpoint, settings, data, tables."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from attest import open_run
from attest.app.cli.main import main
from attest.runs.belonging import OnTrial, checkpoint_digest, digests_of, known_digests, mixed_versions, stray_tables
from attest.runs.folder import RunFolder, made_from, read_json, read_table, write_json, write_table
from tests.library import LIGHT, copy_of


@pytest.fixture(scope="module")
def finished(library) -> RunFolder:
    return library.run("light")


@pytest.fixture
def run(finished, tmp_path) -> RunFolder:
    """A copy that may be spoiled."""
    return copy_of(finished, tmp_path / "runs")


def another_checkpoint(run: RunFolder) -> Path:
    state = torch.load(run.best, weights_only=True)
    state["state_dict"] = {name: value + 1 for name, value in state["state_dict"].items()}
    torch.save(state, run.best)
    return run.best


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def reversed_classes(run: RunFolder) -> Path:
    record = read_json(run.data)
    write_json(run.data, record | {"label_names": record["label_names"][::-1]})
    return run.data


def exchanged_words(run: RunFolder) -> Path:
    record = read_json(run.data)
    first, second, *rest = record["words"]
    write_json(run.data, record | {"words": [second, first, *rest]})
    return run.data


SPOILT = {
    "another checkpoint": another_checkpoint,
    "another projection": lambda run: edited(run.config, "attest.core.attention.Softmax", "attest.core.attention.Sparsemax"),
    "another seed": lambda run: edited(run.config, "seed_everything: 0", "seed_everything: 1"),
    "other draws": lambda run: edited(run.config, "permutations: 100", "permutations: 10"),
    "classes reversed": reversed_classes,
    "words exchanged": exchanged_words,
}


def commands(run: RunFolder) -> dict[str, list[str]]:
    typed = [*LIGHT, f"--run.root={run.path.parents[2]}"]
    return {
        "fit": ["fit", *typed],
        "test": ["test", *typed],
        "validate": ["validate", *typed],
        "evidence": ["evidence", "--run", str(run.path), "E8"],
        "evidence anew": ["evidence", "--run", str(run.path), "E2", "FORCE=1"],
        "explain": ["explain", "--run", str(run.path), "--text", "a fine film"],
        "report": ["report", str(run.path)],
        "table": ["table", str(run.path.parents[2])],
        "adversarial": ["adversarial", *typed],
    }


@pytest.mark.parametrize("how", SPOILT)
def test_every_command_refuses_a_run_whose_files_do_not_belong_together(run, how, capsys):
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.is_file()}
    path = SPOILT[how](run)
    for name, command in commands(run).items():
        assert main(command) == 2, name
        said = capsys.readouterr().err
        assert f"{path.name} has changed since this run was trained and tested" in said or "another configuration" in said, (
            name
        )
    with pytest.raises(Exception, match=rf"{path.name} has changed since this run was trained and tested"):
        open_run(run.path)
    assert {each: each.stat().st_mtime_ns for each in before if each != path} == {
        each: written for each, written in before.items() if each != path
    }


def test_tables_name_checkpoint_data_version_and_commit(finished):
    known = known_digests(finished)
    assert known == digests_of(finished)
    for table in ("instances", "E2"):
        made = made_from(finished.evidence(table))
        assert {part: made[part] for part in ("checkpoint", "data")} == {part: known[part] for part in ("checkpoint", "data")}
        assert {"attest", "commit"} <= made.keys()


def test_tables_of_another_checkpoint_are_refused_and_computed_again(run, capsys):
    table, before = run.evidence("E2"), run.evidence("E2").read_bytes()
    write_table(table, read_table(table).assign(tvd_median=0.0), made_from(table) | {"checkpoint": "another"})
    for command in (["report", str(run.path)], ["table", str(run.path)]):
        assert main(command) == 2
        assert "E2.parquet was computed from another checkpoint or other data; expected" in capsys.readouterr().err
    assert main(["evidence", "--run", str(run.path), "E2", "--trainer.enable_progress_bar=false"]) == 0
    assert "computed" in capsys.readouterr().out
    assert (table.read_bytes(), stray_tables(run)) == (before, [])


def test_a_checkpoint_with_the_same_weights_has_the_same_digest_wherever_it_was_written(finished, tmp_path):
    state = torch.load(finished.best, weights_only=True)
    torch.save(state | {"said": "elsewhere"}, tmp_path / "again.ckpt")
    written = tmp_path / "through.ckpt"
    with written.open("wb") as file:
        torch.save(state | {"said": "elsewhere"}, file)
    assert checkpoint_digest(written) == checkpoint_digest(finished.best)


def test_runs_of_earlier_versions_go_on_working(run, capsys):
    without_digests(run)
    for table in ("instances", "E2"):
        write_table(run.evidence(table), read_table(run.evidence(table)))
    reversed_classes(run)
    assert main(["table", str(run.path)]) == 0
    assert open_run(run.path).summary


def test_a_report_reads_no_relative_whose_files_do_not_belong_together(run, capsys):
    other = RunFolder(run.path.with_name("seed1"))
    shutil.copytree(run.path, other.path)
    another_checkpoint(other)
    assert main(["report", str(run.path)]) == 2
    assert "seed1/checkpoints/best.ckpt has changed since this run was trained and tested" in capsys.readouterr().err


def without_digests(run: RunFolder) -> None:
    write_json(run.identity, {name: value for name, value in read_json(run.identity).items() if name != "digests"})


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (["PROJECTION=sparsemax"], "network.init_args.projection.class_path"),
        (["SEED=1", "--data.init_args.corpus_seed=0"], "seed_everything"),
    ],
)
@pytest.mark.parametrize("command", [["evidence", "E2", "--ckpt"], ["test", "--ckpt_path"], ["validate", "--ckpt_path"]])
def test_a_checkpoint_outside_of_its_run_is_read_with_its_own_choices_alone(finished, tmp_path, capsys, command, other, named):
    bare = tmp_path / "bare.ckpt"
    shutil.copy(finished.best, bare)
    *command, option = command
    typed = [*command, *LIGHT, f"--run.root={tmp_path}", f"{option}={bare}"]
    assert main([*typed, *other]) == 2
    assert f"{bare} was trained with other settings (different: {named}" in capsys.readouterr().err
    assert main(typed) == 0


def test_checkpoints_of_earlier_versions_are_read_with_any_choices_that_fit(finished, tmp_path):
    bare = tmp_path / "bare.ckpt"
    state = torch.load(finished.best, weights_only=True)
    assert state.pop("trained_with")["seed_everything"] == 0
    torch.save(state, bare)
    assert main(["test", *LIGHT, f"--run.root={tmp_path}", f"--ckpt_path={bare}", "PROJECTION=sparsemax"]) == 0


@pytest.mark.parametrize("how", ["another projection", "another seed", "classes reversed", "words exchanged"])
def test_a_run_that_keeps_no_digests_is_held_against_its_checkpoint(run, how, capsys):
    without_digests(run)
    SPOILT[how](run)
    for name in ("evidence", "explain"):
        assert main(commands(run)[name]) == 2, name
        said = capsys.readouterr().err
        assert "was trained with other settings" in said or "the data differ from those of" in said, name


def test_the_report_says_where_versions_differ(run, capsys):
    assert mixed_versions(run) is None
    table = run.evidence("E2")
    write_table(table, read_table(table), made_from(table) | {"attest": "0.1.0", "commit": "a" * 40})
    assert main(["report", str(run.path)]) == 0
    page = run.report.read_text()
    assert "The evidence was computed by different versions" in page
    assert "E2 by attest 0.1.0 of commit aaaaaaaaaaaa" in page
    capsys.readouterr()
    assert main(["evidence", "--run", str(run.path), "E2", "--trainer.enable_progress_bar=false"]) == 0
    assert "there already, by attest 0.1.0 of commit aaaaaaaaaaaa (FORCE=1" in capsys.readouterr().out


def test_whoever_writes_into_a_run_claims_its_folder(run, capsys):
    written = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    run.report.unlink()
    with run.claimed():
        for name in ("evidence", "evidence anew", "explain", "report"):
            assert main(commands(run)[name]) == 2, name
            assert "another process is writing to" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}.keys() == written.keys() - {run.report}


@pytest.mark.parametrize("how", ["another checkpoint", "classes reversed"])
def test_no_table_of_a_model_that_was_replaced_meanwhile_is_written(run, how, refusal):
    before = run.evidence("E2").read_bytes()
    run.made_from = OnTrial(run.best, run.data)
    run.write_evidence("E2", read_table(run.evidence("E2")))
    SPOILT[how](run)
    with refusal():
        run.write_evidence("E2", read_table(run.evidence("E2")).assign(tvd_median=0.0))
    assert run.evidence("E2").read_bytes() == before


def test_a_finished_run_whose_summary_is_older_than_a_table_is_summed_up_again(run, capsys):
    summary, table = run.summary.read_bytes(), run.evidence("E2")
    for typed in ("fit", "evidence"):
        write_json(run.summary, {"version": 1})
        os.utime(table, ns=(0, run.summary.stat().st_mtime_ns + 1))
        command = commands(run)["fit"] if typed == "fit" else ["evidence", "--run", str(run.path), "E2"]
        assert main([*command, "--trainer.enable_progress_bar=false"]) == 0
        assert run.summary.read_bytes() == summary, typed
        assert run.reported
    assert "there already" in capsys.readouterr().out
