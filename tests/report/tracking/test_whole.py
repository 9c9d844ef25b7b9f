"""An offline W&B run is whole in its folder: a copy of it on another machine can be sent, and W&B reads what was changed."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import wandb
from wandb.proto.wandb_internal_pb2 import OutputRecord, Record

from attest.app.cli import sync
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.report.tracking import wandb_report
from attest.report.tracking.wandb_file import (
    BLOCK,
    FIRST,
    HEAD,
    LAST,
    MIDDLE,
    WHOLE,
    point_here,
    records,
    sittings,
    write_records,
)
from attest.runs.folder import RunFolder
from tests.finished_runs import copy_of
from tests.report.tracking.test_wandb import history


@pytest.fixture
def copy(small_run, tmp_path):
    """A copy of a run, as on another machine."""
    wandb.finish()  # W&B writes to the end of its file when the run is over
    return copy_of(small_run, tmp_path / "elsewhere")


def entries(path: Path) -> list:
    """The files of all artifacts that a W&B file names."""
    return [entry for record in records(path) for entry in record.artifact.manifest.contents]


def test_all_that_wandb_would_upload_lies_in_the_folder_of_its_run(small_run):
    (path,) = sittings(small_run.path)
    assert entries(path)
    assert {Path(entry.local_path).is_relative_to(path.parent) for entry in entries(path)} == {True}


def test_a_copy_names_only_its_own_files_and_has_them_all(copy):
    """The folder ``offline-run-…`` alone is enough: the run around it and the home folder may be gone."""
    (path,) = sittings(copy.path)
    place = copy.path.with_name("offline-run-alone")
    path.parent.rename(place)
    shutil.rmtree(copy.path)
    (path,) = sittings(place)
    assert point_here(path) == len(entries(path)) > 20
    for entry in entries(path):
        content = Path(entry.local_path)
        assert content.is_relative_to(place)
        assert base64.b64encode(hashlib.md5(content.read_bytes()).digest()).decode() == entry.digest
    files = [each.path for record in records(path) for each in record.files.files]
    files += [value for key, values in history(records(path)).items() if key.endswith("/path") for value in values]
    assert len(files) > 40
    assert [file for file in files if not (place / "files" / file).is_file()] == []


def test_nothing_but_places_is_changed_in_the_file_of_wandb(copy):
    (path,) = sittings(copy.path)
    before, others = [*records(path)], [*records(path)]
    point_here(path)
    after = [*records(path)]
    assert before != after
    for record in (*others, *after):
        for entry in record.artifact.manifest.contents:
            entry.local_path = ""
    assert others == after
    written = path.stat().st_mtime_ns
    point_here(path)
    assert path.stat().st_mtime_ns == written, "a file that needs no change is left alone, as its run may be going on"


def test_a_file_that_the_copy_lacks_is_named(copy):
    (path,) = sittings(copy.path)
    (checkpoint,) = [entry for entry in entries(path) if entry.path == "checkpoints/best.ckpt"]
    (path.parent / "staging" / "best.ckpt").write_bytes(b"of another length")
    with pytest.raises(AttestError, match=rf"lacks a file that W&B would upload, best\.ckpt with {checkpoint.size} bytes"):
        point_here(path)


@pytest.mark.parametrize("length", [0, 1, *range(BLOCK - 40, BLOCK - 15), BLOCK, 3 * BLOCK])
def test_records_of_any_length_are_read_as_they_were_written(tmp_path, length):
    path = tmp_path / "run-a.wandb"
    path.write_bytes(b"a head.")
    found = [Record(num=1, output=OutputRecord(line="x" * length)), Record(num=2), Record(num=3)]
    write_records(path, found)
    assert [*records(path)] == found
    content = path.read_bytes()
    assert content.startswith(b"a head.")
    ends = range(BLOCK, len(content), BLOCK)
    assert all(
        HEAD.unpack_from(content, end)[2] in (WHOLE, FIRST, MIDDLE, LAST) for end in ends if end + HEAD.size <= len(content)
    )
    path.write_bytes(content[:-1])
    assert [*records(path)] == found[:2], "the end of a run that was killed"
    path.write_bytes(content[: -HEAD.size] + bytes(HEAD.size))
    assert [*records(path)] == found[:2], "what no power cut leaves whole"


def test_wandb_itself_reads_the_changed_file(copy):
    """Its own program reads the file and says what it would send, without a network."""
    (path,) = sittings(copy.path)
    point_here(path)
    typed = [sys.executable, "-m", "wandb", "sync", "--dry-run", str(path.parent)]
    said = subprocess.run(typed, capture_output=True, text=True, check=True, env=os.environ | {"WANDB_SILENT": "false"})
    assert path.parent.name in said.stderr + said.stdout


def test_the_command_sends_the_sittings_of_a_run_together_oldest_first(copy, monkeypatch):
    (path,) = sittings(copy.path)
    again = path.parent.with_name("offline-run-99990101_000000-later")
    shutil.copytree(path.parent, again)
    other = copy.path.parent / "seed1"
    shutil.copytree(copy.path, other)
    shutil.rmtree(other / "wandb" / again.name)
    sent = []
    monkeypatch.setattr(wandb_report, "logged_in", lambda: True)
    monkeypatch.setattr(
        sync.subprocess, "run", lambda typed, check: sent.append(typed) or subprocess.CompletedProcess(typed, 0)
    )
    assert main(["sync", str(copy.path.parent), "--project", "mine"]) == 0
    assert [typed[3:6] for typed in sent] == [["sync", "--project", "mine"]] * 2
    assert [typed[6:] for typed in sent] == [
        [str(path.parent), str(again)],
        [str(other / "wandb" / path.parent.name)],
    ]
    assert {Path(entry.local_path).is_relative_to(again) for entry in entries(again / path.name)} == {True}


def test_what_stands_in_the_way_of_sending_is_said(copy, tmp_path, monkeypatch, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["sync", str(empty)]) == 2
    assert "contains no offline run of W&B" in capsys.readouterr().err
    monkeypatch.setattr(wandb_report, "logged_in", lambda: False)
    assert main(["sync", str(copy.path)]) == 2
    assert "Type wandb login, then the same command." in capsys.readouterr().err


WORDS = ("zyzzyva", "quokka")
"""Words of the user's own texts that stand in no other file."""


def own_run(folder: Path, *arguments: str) -> RunFolder:
    """A small run on texts of the user, with the evidence of the verdict."""
    lines = "".join(f"a film {WORDS[k % 2]} {k},{('bad', 'good')[k % 2]}\n" for k in range(60))
    (folder / "a.csv").write_text("text,label\n" + lines)
    (folder / "b.csv").write_text("text,label\n" + lines.replace(" film", " new film"))
    data = [f"--data.init_args.{split}={folder / file}" for split, file in (("train", "a.csv"), ("test", "b.csv"))]
    small = ["EXPERIMENTS=verdict", "--trainer.max_epochs=8", "--run.processes=1", "--trainer.enable_progress_bar=false"]
    assert main(["fit", "DATA=files", *data, *small, f"--run.root={folder / 'runs'}", *arguments]) == 0
    return RunFolder(next((folder / "runs").glob("*/*/seed0")))


def with_words(folder: Path) -> set[str]:
    """The files in a folder that contain a word of the user's texts, also in the cells of tables."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            content += wandb_report.pd.read_parquet(path).to_json().encode() if content[:4] == b"PAR1" else b""
            found |= {path.relative_to(folder).as_posix()} if any(word.encode() in content for word in WORDS) else set()
    return found


@pytest.mark.whole("trainings")
def test_texts_of_ones_own_files_stay_here_unless_one_asks_for_it(tmp_path, capfd):
    kept = own_run(tmp_path)
    wandb.teardown()
    said = capfd.readouterr().out
    assert said.index("none of your texts") < said.index("Epoch 1/8"), "before anything is sent"
    assert "--run.upload_texts=true" in said
    assert any(word in said for word in WORDS), "the terminal shows a text at the end"
    assert with_words(kept.path) >= {"report.html", "evidence/instances.parquet"}
    assert with_words(kept.path / "wandb") == set()
    (path,) = sittings(kept.path)
    (sent,) = [Path(entry.local_path) for entry in entries(path) if entry.path == "checkpoints/best.ckpt"]
    ours, theirs = (torch.load(each, weights_only=True)["state_dict"] for each in (kept.best, sent))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours.keys() | theirs.keys())
    own_run(tmp_path, "--run.upload_texts=true", "--run.upload_weights=false", "FORCE=1")
    wandb.teardown()  # the file is complete, and later tests have a W&B of their own
    assert "none of your texts" not in capfd.readouterr().out
    (path,) = sittings(kept.path)
    sent = {entry.path for entry in entries(path)}
    assert {"report.html", "evidence/instances.parquet"} <= sent
    assert "checkpoints/best.ckpt" not in sent


PRINTING = "import wandb, sys; run = wandb.init(project='p', dir=sys.argv[1], mode='offline'); print('heard'); run.finish()"


@pytest.mark.whole("a run from beginning to end")
def test_what_the_page_of_trust_says_can_be_turned_off_is_not_in_the_file_of_wandb(tmp_path):
    """The names of W&B's own variables in docs/trust.md, each tried."""
    off = {
        "WANDB_X_DISABLE_MACHINE_INFO": "true",
        "WANDB_HOST": "-",
        "WANDB_CONSOLE": "off",
        "WANDB_X_SAVE_REQUIREMENTS": "false",
    }
    page = Path(__file__).parents[3].joinpath("docs/trust.md").read_text(encoding="utf-8")
    assert {name for name in off if f"{name}={off[name]}" in page} == {*off}
    seen = []
    for chosen in ({}, off):
        place = tmp_path / str(len(chosen))
        place.mkdir()
        typed = [sys.executable, "-c", PRINTING, str(place), "a-secret-argument"]
        subprocess.run(typed, env=os.environ | chosen, check=True, capture_output=True)
        (path,) = sittings(place)
        said = "".join(map(str, records(path)))
        hidden = os.uname().nodename, "a-secret-argument", "executable", "remote_url", "heard", "requirements.txt"
        files = {file.name for file in path.parent.joinpath("files").rglob("*")}
        seen.append(
            [word for word in hidden if f'"{word}"' in said or f"{word}:" in said or word in files or f"{word}\\n" in said]
        )
    with_all, without = seen
    assert {"a-secret-argument", "executable", "requirements.txt", os.uname().nodename} <= {*with_all}
    assert without == []
