"""Experiments that were added to the shipped sets leave the runs that were there as they were."""

import shutil

import pytest
import yaml

from attest.cli.main import main
from attest.runs.belonging import DIGESTS
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.naming import ADDED_LATER
from tests.conftest import SMALL_RUN


@pytest.fixture
def kept(small_run, tmp_path):
    """The small run as an earlier version left it: nothing of what was added later, in its settings or its tables."""
    place = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, place)
    folder = RunFolder(place)
    settings = folder.settings()
    settings["run"]["root"] = str(tmp_path)
    for name in ADDED_LATER:
        assert settings["experiments"].pop(name), "it is not in the shipped set"
        folder.evidence(name).unlink()
    folder.config.write_text(yaml.safe_dump(settings, sort_keys=False))
    write_json(folder.identity, {name: value for name, value in read_json(folder.identity).items() if name != DIGESTS})
    return folder


def test_a_kept_run_is_recognised_and_nothing_is_done(kept, tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in kept.path.rglob("*") if path.is_file()}
    assert main(["fit", *SMALL_RUN, f"--run.root={tmp_path}"]) == 0
    assert f"complete: {kept.path}" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in kept.path.rglob("*") if path.is_file()} == before


def test_what_was_added_is_gathered_for_a_kept_run_where_asked_for(kept, capsys):
    assert main(["evidence", "--run", str(kept.path), "E15"]) == 0
    assert kept.evidence("E15").is_file()
    assert not kept.evidence("E14").is_file()


def test_another_reading_lies_apart_and_leaves_the_runs_own_tables(kept, capsys):
    own = kept.evidence("E11").read_bytes()
    assert main(["evidence", "--run", str(kept.path), "--reading", "norm", "E11", "e14"]) == 0
    (apart,) = kept.best.parent.glob("best-evidence-norm-*")
    assert {path.stem for path in (apart / "evidence").iterdir()} == {"E11", "E14"}
    assert kept.evidence("E11").read_bytes() == own != (apart / "evidence" / "E11.parquet").read_bytes()
    assert main(["evidence", "--run", str(kept.path), "--reading", "norm", "E2"]) != 0
    assert "E2 is about attention itself; expected some of E1, E11, E12, E14" in capsys.readouterr().err
    assert main(["evidence", "--run", str(kept.path), "--reading", "nrom"]) != 0
    assert "norm" in capsys.readouterr().err
