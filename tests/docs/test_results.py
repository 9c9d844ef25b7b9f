"""The tables in docs/results are what their archives, their files and the present rules give."""

import re
import tarfile
from itertools import groupby
from pathlib import Path

import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.replication.page import stamp
from attest.replication.table import FILE
from attest.runs.published_tables import read_published, table_file, table_names
from benchmarks.judges.found import over_rules

RESULTS = Path(__file__).parents[2] / "docs/results"
TABLES = sorted(RESULTS.glob("*/table.md"))


def _name_of(folder: Path) -> str:
    """The table of a folder, whose name ends with the corpus; that of a corpus can have a hyphen, too."""
    return max((name for name in table_names() if folder.name.startswith(f"{name}-")), key=len)


def test_no_table_is_older_than_its_rules():
    """Where this fails the rules or the table's file have changed: write the tables again, as docs/results/README.md says."""
    assert len(TABLES) > 40
    stamps = {table: [stamp(read_published(table_file(_name_of(table.parent))))] for table in TABLES}
    older = [table.parent.name for table in TABLES if re.findall("<!-- rules .* -->", table.read_text()) != stamps[table]]
    assert not older, "\n".join(older)


def _asked(table: Path) -> tuple[str, ...]:
    """The corpus and the options of the command that a table gives as its own."""
    (words,) = re.findall(r"^attest reproduce (.*)$", table.read_text(), re.MULTILINE)
    return tuple(word for word in words.split() if not word.startswith(("TABLE=", "RUN=", "--results=")))


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _sample(tables: list[Path]) -> list[Path]:
    """The folder of the longest page, and that of the table that keeps most of what it read from evidence."""
    return sorted({max(tables, key=_size).parent, max(tables, key=lambda table: _size(table.with_name(FILE))).parent})


SAMPLES = {asked: _sample(list(tables)) for asked, tables in groupby(sorted(TABLES, key=_asked), _asked)}


@pytest.mark.whole("archives of runs")
@pytest.mark.parametrize("asked", SAMPLES, ids=" ".join)
def test_tables_come_out_of_their_archives_as_they_stand(asked, tmp_path, monkeypatch):
    """Byte for byte, of every corpus and its options two tables. Nothing is drawn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attest.replication.write.table_figures", lambda *_: {})
    data, apart = asked[0].removeprefix("DATA="), "--run.root=runs/sparse" in asked
    with tarfile.open(RESULTS / f"runs-{'sparse-' if apart else ''}{data}.tar.xz") as archive:
        archive.extractall(tmp_path / "runs" if apart else tmp_path, filter="data")
    for folder in SAMPLES[asked]:
        (tmp_path / "results" / folder.name).mkdir(parents=True)
        if (folder / FILE).is_file():
            (tmp_path / "results" / folder.name / FILE).write_bytes((folder / FILE).read_bytes())
    assert main(["reproduce", f"TABLE={','.join(map(_name_of, SAMPLES[asked]))}", "RUN=0", *asked]) == 0
    for folder in SAMPLES[asked]:
        written = tmp_path / "results" / folder.name
        assert _page(written) == _page(folder)
        if (folder / FILE).is_file():
            assert (written / FILE).read_bytes() == (folder / FILE).read_bytes()


def _page(folder: Path) -> str:
    """The page of a table without the command that wrote it."""
    return re.sub(r"^attest reproduce .*$", "", (folder / "table.md").read_text(), flags=re.MULTILINE)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def numbers_of(table: str) -> pd.DataFrame:
    """The numbers on the page of a table, as they are printed there, by row and column."""
    lines = (RESULTS / table / "table.md").read_text().splitlines()
    head, _, *rows = [_cells(line) for line in lines if line.startswith("| ") and len(_cells(line)) == 9]
    return pd.DataFrame(rows, columns=head).set_index(["row", "quantity"])


def _section(begins: str, ends: str = "\n## ") -> str:
    """The part of the page on embeddings that begins and ends like this."""
    return (RESULTS / "embeddings.md").read_text().split(begins)[-1].split(ends)[0]


def _rows(section: str) -> list[list[str]]:
    return [_cells(line) for line in section.splitlines() if line.startswith("| ") and not line.startswith("| ---")]


VERDICTS = ("near", "perhaps near", "perhaps different", "different")
COLUMNS = ("accuracy", "ROC-AUC", "τ gradient", "τ leave-one-out", "median TVD", "mean JSD, exact at 0.01")


@pytest.mark.parametrize(
    ("data", "begins"), [("sst", "# What pretrained vectors change"), ("20news", "## 20 Newsgroups"), ("imdb", "## IMDb\n")]
)
def test_the_page_on_embeddings_says_what_its_tables_say(data, begins):
    found = numbers_of(f"embeddings-{data}")["ours"]
    lines = [line for line in _rows(_section(begins)) if line[0].partition(",")[0] in ("BiLSTM", "CNN", "average")]
    ours = {f"{model}, {embeddings}": cells for model, embeddings, *cells in lines if "published" not in embeddings}
    assert set(ours) == set(found.index.get_level_values("row"))
    for row, cells in ours.items():
        assert cells == [found[row, column].partition(" ")[0] for column in COLUMNS]


def test_the_page_on_embeddings_counts_the_verdicts_of_20_newsgroups():
    found, section = numbers_of("embeddings-20news").reset_index(), _section("## 20 Newsgroups")
    assert set(found["seeds"]) == {"3"}
    judged = found[found["verdict"] != "–"]
    counts = judged.groupby(judged["row"].str.rpartition(", ")[2])["verdict"].value_counts()
    near, unsure, doubtful, apart = (counts["GloVe 50"][each] for each in VERDICTS)
    assert f"Of {counts['GloVe 50'].sum()} published numbers {near} are *near* with GloVe" in section
    assert f"{unsure} *perhaps near*, {doubtful} *perhaps different* and {apart} *different*; from 300" in section
    assert "dimensions {}, {}, {} and {}.".format(*(counts["random 300"][each] for each in VERDICTS)) in section


def test_the_page_on_embeddings_counts_what_lies_within_its_margin_on_imdb():
    found = numbers_of("embeddings-imdb").reset_index()
    judged = found[(found["difference"] != "–") & (found["margin"] != "–")]
    within = judged["difference"].astype(float).abs() <= judged["margin"].astype(float)
    counts = within.groupby(judged["row"].str.rpartition(", ")[2]).agg(["sum", "count"])
    glove, own, small = (counts["sum"][name] for name in ("GloVe 50", "random 300", "random 50"))
    counted = f"Of {counts['count']['GloVe 50']} published numbers {glove} lie within their margin with GloVe, {own} from 300"
    assert f"{counted} random dimensions and {small} from 50." in _section("## IMDb\n")


def test_the_page_on_embeddings_says_what_the_table_of_meisters_models_says():
    found, section = numbers_of("embeddings-me-sst"), _section("## Meister et al.'s models")
    header, *lines = _rows(section)
    ours = {f"{model}, {embeddings}": cells for model, embeddings, *cells in lines if embeddings != "published"}
    assert set(ours) == set(found.index.get_level_values("row"))
    for row, cells in ours.items():
        assert cells == [found.loc[(row, column), "ours"] for column in header[2:]]
    judged = found[found["verdict"] != "–"].reset_index()
    embeddings = judged["row"].str.rpartition(", ")[2]
    counts = judged["verdict"].eq("different").groupby(embeddings).sum()
    own = counts["random 300"] + counts["random 128"]
    assert f"Of {(embeddings == 'GloVe 50').sum()} published numbers {own} are *different* from random" in section
    assert f"and {counts['GloVe 50']} with GloVe" in section


@pytest.mark.parametrize(("data", "place", "chosen"), [("sst", 0, "That is {}."), ("20news", 1, "the rate is {} here")])
def test_the_page_on_embeddings_says_what_the_table_of_rates_says(data, place, chosen):
    found = numbers_of(f"me-rates-{data}")["ours"]
    section = _section("## At which learning rate").split("### On 20 Newsgroups")[place]
    header, *lines = _rows(section)
    shown = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    rates = found.index.get_level_values("row").unique()
    assert set(shown) == {*rates, "published, at 1e-5"}
    assert all(shown[rate][column] == found[rate, column] for rate in rates for column in header[1:])
    assert chosen.format(found.xs("ROC-AUC, validation", level="quantity").idxmax()) in section


JUDGED = {
    "E15 τ-b with integrated gradients": "E15 integrated gradients (added)",
    "E14 comprehensiveness, `delete`": "E14 comprehensiveness, delete (added)",
    "E1 τ-b with gradient × input": "E1 gradient × input",
    "E14 sufficiency, `delete`": "E14 sufficiency, delete (added)",
    "E15 behind leave-one-out, `delete`": "E15 behind leave-one-out (added)",
    "E15 τ-b with leave-one-out": "E15 leave-one-out (added)",
    "E2 shuffling": "E2 shuffling",
    "E14 NAOPC, comprehensiveness": "E14 NAOPC, comprehensiveness (added)",
    "E14 NAOPC, sufficiency": "E14 NAOPC, sufficiency (added)",
    "E15 τ-b with \\|αm\\|": "E15 |αm| (added)",
    "E14 comprehensiveness, `attention`": "E14 comprehensiveness, attention (added)",
    "E14 sufficiency, `attention`": "E14 sufficiency, attention (added)",
}


def test_what_is_said_of_erasure_before_the_judges_is_what_they_found():
    judged = pd.read_parquet(RESULTS / "judges.parquet")
    pooled = judged[judged.family == "pooled"]
    wrong, right = over_rules(pooled, "wrong"), over_rules(pooled, "right")
    text = (RESULTS / "erasure.md").read_text().split("## Before the judges")[1].split("\n## ")[0]
    said = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines() if line.startswith("| E")
    ]
    assert [cells[0] for cells in said] == list(JUDGED)
    for name, of, seen, least, accuses in said:
        cells = wrong[wrong.test == JUDGED[name]]
        worst = cells.loc[cells.least.idxmin()]
        assert {*cells["of"]} == {of}
        assert seen == f"{(cells.least >= 0.9).sum()} of {len(cells)}"
        assert least.startswith(f"{worst.least:.2f} (")
        accused = right[(right.test == JUDGED[name]) & (right.most >= 0.9)].defendant
        assert accuses == (", ".join(accused) or "nobody"), name
