"""The tables in docs/results are what their archives, their files and the present rules give."""

import re
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.experiments.judges.judging import over_rules
from attest.report.tables.page import stamp, stamp_of
from attest.report.tables.table import FILE
from attest.runs.published_tables import read_published, table_file

RESULTS = Path(__file__).parents[2] / "docs/results"
TABLES = sorted(RESULTS.glob("*/table.md"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def _name_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


@pytest.mark.parametrize("table", TABLES, ids=[table.parent.name for table in TABLES])
def test_no_table_is_older_than_its_rules(table):
    """Where this fails the rules or the table's file have changed: write the tables again, as docs/results/README.md says."""
    assert stamp_of(table.read_text()) == stamp(read_published(table_file(_name_of(table.parent))))


def _asked(table: Path) -> tuple[str, ...]:
    """The corpus and the options of the command that a table gives as its own."""
    (words,) = re.findall(r"^attest reproduce (.*)$", table.read_text(), re.MULTILINE)
    return tuple(word for word in words.split() if not word.startswith(("TABLE=", "RUN=", "--results=")))


ASKED = {asked: [table.parent for table in TABLES if _asked(table) == asked] for asked in sorted(set(map(_asked, TABLES)))}


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_tables_come_out_of_their_archives_as_they_stand(asked, tmp_path, monkeypatch):
    """Every number, interval, p and verdict; with what was kept of evidence, where there is any. Nothing is drawn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attest.app.reproduce.write.table_figures", lambda *_: {})
    with tarfile.open(RESULTS / f"runs-{asked[0].removeprefix('DATA=')}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    for folder in ASKED[asked]:
        (tmp_path / "results" / folder.name).mkdir(parents=True)
        if (folder / FILE).is_file():
            (tmp_path / "results" / folder.name / FILE).write_text((folder / FILE).read_text())
    assert main(["reproduce", f"TABLE={','.join(map(_name_of, ASKED[asked]))}", "RUN=0", *asked]) == 0
    for folder in ASKED[asked]:
        written = tmp_path / "results" / folder.name
        _require_same(written / "table.csv", folder / "table.csv")
        assert _rows(written) == _rows(folder)
        if (folder / FILE).is_file():
            _require_same(written / FILE, folder / FILE)


def _require_same(ours: Path, theirs: Path) -> None:
    """Words alike and numbers but for their last digits, which depend on the order in which a processor sums."""
    (our_words, our_numbers), (their_words, their_numbers) = map(_words_and_numbers, (ours, theirs))
    assert our_words == their_words
    assert our_numbers == pytest.approx(their_numbers, rel=1e-12, abs=1e-14)


def _words_and_numbers(file: Path) -> tuple[list[str], list[float]]:
    text = file.read_text()
    return NUMBER.split(text), [float(number) for number in NUMBER.findall(text)]


def _rows(folder: Path) -> list[str]:
    page = (folder / "table.md").read_text()
    return [line for line in page.splitlines() if line.startswith(("| ", "**", "Judged by"))]


VERDICTS = ("near", "perhaps near", "perhaps different", "different")
COLUMNS = ("accuracy", "ROC-AUC", "τ gradient", "τ leave-one-out", "median TVD", "mean JSD, exact at 0.01")


def test_the_page_on_embeddings_says_what_its_table_says():
    found = pd.read_csv(RESULTS / "embeddings-sst" / "table.csv").pivot_table("ours", "row", "column", aggfunc="first")
    of_jain_and_wallace = (RESULTS / "embeddings.md").read_text().split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in of_jain_and_wallace.splitlines()]
    rows = {f"{line[0]}, {line[1]}": line[2:] for line in lines if line[0].partition(",")[0] in ("BiLSTM", "CNN", "average")}
    ours = {name: numbers for name, numbers in rows.items() if "published" not in name}
    assert set(ours) == set(found.index)
    assert all(numbers == [f"{found.loc[name, column]:.3f}" for column in COLUMNS] for name, numbers in ours.items())


def test_the_page_on_embeddings_says_what_the_table_of_20_newsgroups_says():
    found = pd.read_csv(RESULTS / "embeddings-20news" / "table.csv").set_index(["row", "column"])
    section = (RESULTS / "embeddings.md").read_text().split("## 20 Newsgroups")[1].split("\n## ")[0]
    _, _, *lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    ours = {f"{model}, {embeddings}": cells for model, embeddings, *cells in lines if "published" not in embeddings}
    assert set(ours) == set(found.index.get_level_values("row"))
    assert set(found["seeds"]) == {3}
    for row, cells in ours.items():
        assert cells == [f"{found.loc[(row, column), 'ours']:.3f}" for column in COLUMNS]
    verdicts = found["verdict"].dropna().reset_index()
    counts = verdicts.groupby(verdicts["row"].str.rpartition(", ")[2])["verdict"].value_counts()
    near, unsure, doubtful, apart = (counts["GloVe 50"][each] for each in VERDICTS)
    assert f"Of {counts['GloVe 50'].sum()} published numbers {near} are *near* with GloVe" in section
    assert f"{unsure} *perhaps near*, {doubtful} *perhaps different* and {apart} *different*; from 300" in section
    assert "dimensions {}, {}, {} and {}.".format(*(counts["random 300"][each] for each in VERDICTS)) in section


def test_the_page_on_embeddings_says_what_the_table_of_imdb_says():
    found = pd.read_csv(RESULTS / "embeddings-imdb" / "table.csv").pivot_table("ours", "row", "column", aggfunc="first")
    section = (RESULTS / "embeddings.md").read_text().split("## IMDb\n")[1].split("\n## ")[0]
    _, _, *lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    ours = {f"{model}, {embeddings}": cells for model, embeddings, *cells in lines if "published" not in embeddings}
    assert set(ours) == set(found.index)
    for row, cells in ours.items():
        assert cells == [f"{found.loc[row, column]:.3f}" for column in COLUMNS]
    judged = pd.read_csv(RESULTS / "embeddings-imdb" / "table.csv").dropna(subset=["published", "difference", "margin"])
    within = (
        (judged["difference"].abs() <= judged["margin"]).groupby(judged["row"].str.rpartition(", ")[2]).agg(["sum", "count"])
    )
    glove, own, small = (within["sum"][name] for name in ("GloVe 50", "random 300", "random 50"))
    counted = f"Of {within['count']['GloVe 50']} published numbers {glove} lie within their margin with GloVe, {own} from 300"
    assert f"{counted} random dimensions and {small} from 50." in section


def test_the_page_on_embeddings_says_what_the_table_of_meisters_models_says():
    found = pd.read_csv(RESULTS / "embeddings-me-sst" / "table.csv").set_index(["row", "column"])
    section = (RESULTS / "embeddings.md").read_text().split("## Meister et al.'s models")[1].split("\n## ")[0]
    header, _, *lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    ours = {f"{model}, {embeddings}": cells for model, embeddings, *cells in lines if embeddings != "published"}
    assert set(ours) == set(found.index.get_level_values("row"))
    for row, cells in ours.items():
        assert cells == ["{ours:.3f} ± {std:.3f}".format(**found.loc[(row, column)]) for column in header[2:]]
    verdicts = found["verdict"].dropna().reset_index()
    embeddings = verdicts["row"].str.rpartition(", ")[2]
    counts = verdicts["verdict"].eq("different").groupby(embeddings).sum()
    own = counts["random 300"] + counts["random 128"]
    judged = (embeddings == "GloVe 50").sum()
    assert f"Of {judged} published numbers {own} are *different* from random" in section
    assert f"and {counts['GloVe 50']} with GloVe" in section


@pytest.mark.parametrize(("data", "place", "chosen"), [("sst", 0, "That is {}."), ("20news", 1, "the rate is {} here")])
def test_the_page_on_embeddings_says_what_the_table_of_rates_says(data, place, chosen):
    found = pd.read_csv(RESULTS / f"me-rates-{data}" / "table.csv").set_index(["row", "column"])
    sections = (RESULTS / "embeddings.md").read_text().split("## At which learning rate")[1]
    section = sections.split("### On 20 Newsgroups")[place]
    header, _, *lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    shown = {(line[0], column): cell for line in lines for column, cell in zip(header, line, strict=True)}
    rates = found.index.get_level_values("row").unique()
    assert {line[0] for line in lines} == {*rates, "published, at 1e-5"}
    for rate in rates:
        for column in header[1:]:
            assert shown[rate, column] == "{ours:.3f} ± {std:.3f}".format(**found.loc[(rate, column)])
    best = found.xs("ROC-AUC, validation", level="column")["ours"].idxmax()
    assert chosen.format(best) in section


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
