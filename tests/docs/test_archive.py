"""Archives of runs keep what tables read, and the day of each run."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from docs.archive import DAY, KEPT, pack

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture
def runs(tmp_path):
    for seed, day in ((0, 100), (1, 200)):
        run = tmp_path / "runs" / "planted" / "jw-bilstm" / f"seed{seed}"
        (run / "evidence").mkdir(parents=True)
        measures = {
            "test/accuracy": 0.5,
            "E1/tau/mean": 0.1 + seed,
            "E1/tau/ci_low": 0.0,
            "E13/rank/mean": 3.0,
            "E15/x/mean": 1.0,
            "E10/h/mean": 0.2,
        }
        files = {"config.yaml": "seed_everything: 0\n", "timing.json": "{}", "summary.json": json.dumps(measures)}
        for name, content in (files | {"evidence/E1.parquet": "rows", "base.json": "{}"}).items():
            (run / name).write_text(content)
            os.utime(run / name, (day * DAY + 4711,) * 2)
    (tmp_path / "runs" / "planted" / "unfinished" / "seed0").mkdir(parents=True)
    (tmp_path / "runs" / "planted" / "unfinished" / "seed0" / "config.yaml").write_text("seed_everything: 0\n")
    return tmp_path / "runs" / "planted"


def test_what_is_packed_comes_out_with_its_day_and_nothing_else(runs, tmp_path):
    assert pack(runs, tmp_path / "runs.tar.xz") == 2
    with tarfile.open(tmp_path / "runs.tar.xz") as archive:
        members = {member.name: member for member in archive}
        whole = [f"runs/planted/jw-bilstm/seed{seed}/{name}" for seed in (0, 1) for name in KEPT]
        assert [*members] == whole
        assert [member.mtime for member in members.values()] == [100 * DAY] * 4 + [200 * DAY] * 4
        assert {member.uname for member in members.values()} == {""}
        summary = json.load(archive.extractfile("runs/planted/jw-bilstm/seed1/summary.json"))
    assert summary == {"test/accuracy": 0.5, "E1/tau/mean": 1.1, "E10/h/mean": 0.2}


def test_the_same_runs_give_the_same_bytes(runs, tmp_path):
    for name in ("first", "second"):
        pack(runs, tmp_path / f"{name}.tar.xz")
    assert (tmp_path / "first.tar.xz").read_bytes() == (tmp_path / "second.tar.xz").read_bytes()


def test_the_page_of_results_tells_how_many_runs_are_archived():
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    count = 0
    for corpus in ("sst", "20news", "conll2000", "imdb", "babi-generated"):
        with tarfile.open(RESULTS / f"runs-{corpus}.tar.xz") as archive:
            count += sum(name.endswith("/summary.json") for name in archive.getnames())
    assert f" of {count} runs (`python -m docs.archive`)" in page
