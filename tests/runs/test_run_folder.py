"""Files are written whole or not at all, and completeness is judged file by file."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attest.core.errors import AttestError
from attest.runs import folder as module
from attest.runs.folder import RunFolder, columns_in, read_json, read_table, write_atomically, write_json, write_table


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "file.json"
    write_json(target, {"a": 1})

    def half(path):
        path.write_text('{"a":')
        raise RuntimeError("stopped in the middle")

    with pytest.raises(RuntimeError):
        write_atomically(target, half)
    assert read_json(target) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o022])
def test_files_honour_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_json(tmp_path / "texts.json", {})
        write_table(tmp_path / "texts.parquet", pd.DataFrame({"id": [1]}))
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666 & ~mask}


def test_undefined_numbers_become_null(tmp_path):
    write_json(tmp_path / "x.json", {"mean": math.nan, "list": [1.0, math.inf]})
    assert json.loads((tmp_path / "x.json").read_text()) == {"mean": None, "list": [1.0, None]}


def test_a_folder_that_cannot_be_made_is_named(tmp_path, refusal):
    (tmp_path / "file").write_text("in the way")
    with refusal():
        write_json(tmp_path / "file" / "x.json", {})


def test_a_full_disk_is_named(tmp_path, refusal):
    def full(path):
        raise OSError(28, "No space left on device")

    with refusal():
        write_atomically(tmp_path / "x", full)


def test_notes_accumulate(tmp_path):
    folder = RunFolder(tmp_path)
    folder.note(seconds={"train": 1.0}, wandb_id="a")
    folder.note(seconds={"evidence/E1": 2.0})
    assert read_json(folder.timing) == {"seconds": {"train": 1.0, "evidence/E1": 2.0}, "wandb_id": "a"}


def test_completeness_is_judged_file_by_file(tmp_path):
    folder = RunFolder(tmp_path)
    for file in (folder.config, folder.best, folder.last, folder.curves, folder.summary, folder.report):
        assert not folder.complete([])
        write_json(file, {})
    assert folder.complete([])
    assert folder.missing_evidence(["E1", "E2"]) == ["E1", "E2"]
    write_table(folder.evidence("E1"), pd.DataFrame({"id": [1]}))
    for stale in (folder.summary, folder.report):
        os.utime(folder.evidence("E1"), ns=(0, stale.stat().st_mtime_ns + 10**9))
        assert not folder.complete(["E1"]), "a table that is newer is not summed up yet"
        os.utime(stale, ns=(0, stale.stat().st_mtime_ns + 2 * 10**9))
    assert folder.complete(["E1"])
    assert folder.missing_evidence(["E1", "E2"]) == ["E2"]


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path):
    folder = RunFolder(tmp_path / "seed0")
    taken = r"another process is writing to .*seed0; expected only one process at a time.*--run\.root="
    with folder.claimed(), pytest.raises(AttestError, match=taken), folder.claimed():
        pass
    with folder.claimed():
        assert folder.path.is_dir()


def test_some_rows_of_a_table_are_read_in_its_order(tmp_path):
    wide = [np.random.default_rng(each).random(20) for each in range(200)]
    write_table(tmp_path / "wide.parquet", pd.DataFrame({"id": np.arange(200) * 3, "wide": wide, "name": "x"}))
    rows = read_table(tmp_path / "wide.parquet", ids=[597, 30, 31])
    assert rows["id"].tolist() == [30, 597]
    np.testing.assert_array_equal(rows["wide"][1], wide[199])


def test_no_row_that_is_asked_for_is_an_empty_table_with_all_columns(tmp_path):
    write_table(tmp_path / "rows.parquet", pd.DataFrame({"id": [1], "tags": [[1, 2]]}))
    rows = read_table(tmp_path / "rows.parquet", ids=[])
    assert list(rows.columns) == columns_in(tmp_path / "rows.parquet") == ["id", "tags"]


@pytest.mark.parametrize("typed", [".", "../seed0/evidence/.."])
def test_a_run_that_is_named_by_dots_has_its_own_name_and_its_neighbours(tmp_path, monkeypatch, typed):
    run = tmp_path / "planted/a-setting/seed0"
    (run / "evidence").mkdir(parents=True)
    monkeypatch.chdir(run)
    folder = RunFolder(Path(typed))
    assert (folder.path.name, folder.setting, folder.corpus) == ("seed0", run.parent, run.parents[1])


def test_where_a_folder_cannot_be_opened_as_on_windows_a_run_goes_on_without_a_lock(tmp_path, monkeypatch):
    def refused(path, *flags):
        raise PermissionError(path)

    monkeypatch.setattr(module, "WINDOWS", True)
    monkeypatch.setattr(module.os, "open", refused)
    with RunFolder(tmp_path / "run").claimed():
        module._put_on_disk(tmp_path)
    monkeypatch.setattr(module, "WINDOWS", False)
    with pytest.raises(AttestError), RunFolder(tmp_path / "run").claimed():
        pass
