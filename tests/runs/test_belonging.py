"""What belongs together is compared by every command that reads a run: checkpoint, settings, data, tables."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from attest import open_run
from attest.app.cli.main import main
from attest.runs import versions
from attest.runs.belonging import (
    OnTrial,
    checkpoint_digest,
    digests_of,
    known_digests,
    mixed_versions,
    stray_tables,
    versions_of,
)
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, made_from, read_json, read_table, write_json, write_table
from tests.finished_runs import LIGHT, copy_of

pytestmark = pytest.mark.whole("commands on copies of a run")

COMMIT = "a" * 40


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


@pytest.mark.parametrize(
    "how",
    [
        "another checkpoint",
        *(pytest.param(how, marks=pytest.mark.whole("nine commands")) for how in SPOILT if how != "another checkpoint"),
    ],
)
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
        made = RunContents(finished).origin_of(table)
        assert {part: made[part] for part in ("checkpoint", "data")} == {part: known[part] for part in ("checkpoint", "data")}
        assert (made["attest"], made.get("commit")) == (versions.__version__, versions.commit())
        assert "commit" not in made_from(finished.evidence(table)), "the same code writes the same bytes, with or without git"


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
    for table in run.tables:
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
    assert mixed_versions(RunContents(run)) is None
    table = run.evidence("E2")
    write_table(table, read_table(table), made_from(table) | {"attest": "0.1.0", "commit": COMMIT})
    assert main(["report", str(run.path)]) == 0
    page = run.report.read_text()
    assert "The evidence was computed by different versions" in page
    assert "E2 by attest 0.1.0 of commit aaaaaaaaaaaa" in page
    capsys.readouterr()
    assert main(["evidence", "--run", str(run.path), "E2", "--trainer.enable_progress_bar=false"]) == 0
    assert "there already, by attest 0.1.0 of commit aaaaaaaaaaaa (FORCE=1" in capsys.readouterr().out


@pytest.fixture
def git(run, monkeypatch):
    """A function that replaces what git says of the commit; None for a git that does not answer in time.

    All tables of the run are of the commit aaaa….
    """
    run.note(commits=dict.fromkeys(run.tables, COMMIT))

    def says(commit: str | None) -> None:
        def run(command, **_options):
            if commit is None:
                raise subprocess.TimeoutExpired(command, 5)
            return subprocess.CompletedProcess(command, 0, stdout=f"{commit}\n")

        monkeypatch.setattr(versions.subprocess, "run", run)
        versions.commit.cache_clear()

    yield says
    monkeypatch.undo()
    versions.commit.cache_clear()


def gathered_again(run: RunFolder) -> str:
    """Compute E2 again, and return the page of the run."""
    assert main(["evidence", "--run", str(run.path), "E2", "FORCE=1", "--trainer.enable_progress_bar=false"]) == 0
    assert main(["report", str(run.path)]) == 0
    return run.report.read_text()


def test_a_git_that_does_not_answer_is_no_other_version(run, git, capsys):
    before = run.evidence("E2").read_bytes()
    git(None)
    assert main(["evidence", "--run", str(run.path), "E2", "--trainer.enable_progress_bar=false"]) == 0
    assert "there already (FORCE=1" in capsys.readouterr().out
    assert "computed by different versions" not in gathered_again(run)
    assert run.evidence("E2").read_bytes() == before


def test_a_file_that_changed_meanwhile_is_no_other_version(run, git):
    git(f"{COMMIT}-dirty")
    assert "computed by different versions" not in gathered_again(run)
    assert RunContents(run).origin_of("E2")["commit"] == f"{COMMIT}-dirty"


def test_a_table_that_another_commit_made_is_named(run, git, capsys):
    before = run.evidence("E2").read_bytes()
    git("b" * 40)
    page = gathered_again(run)
    assert "The evidence was computed by different versions" in page
    assert f"E2 by attest {versions.__version__} of commit bbbbbbbbbbbb" in page
    assert run.evidence("E2").read_bytes() == before
    git("c" * 40)
    capsys.readouterr()
    assert main(["evidence", "--run", str(run.path), "E2", "--trainer.enable_progress_bar=false"]) == 0
    assert f"there already, by attest {versions.__version__} of commit bbbbbbbbbbbb (FORCE=1" in capsys.readouterr().out


def test_a_table_whose_writing_was_stopped_names_no_commit(run, git, monkeypatch):
    git("b" * 40)
    rows = read_table(run.evidence("E2"))

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("attest.runs.folder.write_table", stopped)
        with pytest.raises(KeyboardInterrupt):
            run.write_evidence("E2", rows)
    assert "commit" not in RunContents(run).origin_of("E2")
    run.write_evidence("E2", rows)
    assert RunContents(run).origin_of("E2")["commit"] == "b" * 40


def test_versions_are_told_once_where_a_commit_is_unknown(run):
    run.note(commits={"instances": COMMIT, "E2": None})
    assert versions_of(RunContents(run), ["instances", "E2"]) == [f"attest {versions.__version__} of commit aaaaaaaaaaaa"]
    assert versions_of(RunContents(run), ["E2"]) == [f"attest {versions.__version__}"]


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
