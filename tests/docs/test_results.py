"""The tables in docs/results are what their archives, their files and the present rules give."""

import tarfile
from pathlib import Path

import pytest

from attest.cli.main import main
from attest.tables.definition import read_published, table_file
from attest.tables.kept import FILE
from attest.tables.stamp import stamp, stamp_of

RESULTS = Path(__file__).parents[2] / "docs/results"
TABLES = sorted(RESULTS.glob("*/table.md"))


def _name_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


@pytest.mark.parametrize("table", TABLES, ids=[table.parent.name for table in TABLES])
def test_no_table_is_older_than_its_rules(table):
    """Where this fails the rules or the table's file have changed: write the tables again, as docs/results/README.md says."""
    assert stamp_of(table.read_text()) == stamp(read_published(table_file(_name_of(table.parent))))


@pytest.mark.parametrize(("data", "names"), [("conll2000", ["ya-1", "ya-2"]), ("20news", ["ss-orders", "jw-fig5"])])
def test_a_table_comes_out_of_its_archive_as_it_stands(data, names, tmp_path, monkeypatch):
    """Every number, interval, p and verdict; with what was kept of evidence, where there is any."""
    monkeypatch.chdir(tmp_path)
    with tarfile.open(RESULTS / f"runs-{data}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    committed = [RESULTS / f"{name}-{data}" for name in names]
    for folder in committed:
        (tmp_path / "results" / folder.name).mkdir(parents=True)
        if (folder / FILE).is_file():
            (tmp_path / "results" / folder.name / FILE).write_text((folder / FILE).read_text())
    assert main(["reproduce", f"TABLE={','.join(names)}", f"DATA={data}", "RUN=0"]) == 0
    for folder in committed:
        written = tmp_path / "results" / folder.name
        assert (written / "table.csv").read_text() == (folder / "table.csv").read_text()
        assert _rows(written) == _rows(folder)
        if (folder / FILE).is_file():
            assert (written / FILE).read_text() == (folder / FILE).read_text()


def _rows(folder: Path) -> list[str]:
    page = (folder / "table.md").read_text()
    return [line for line in page.splitlines() if line.startswith(("| ", "**", "Judged by"))]
