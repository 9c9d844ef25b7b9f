"""Write one table from its finished runs: ``python -m attest.app.reproduce.write results/workflow.json jw-2``.

``results/<table>/`` then holds ``table.md``, ``table.csv`` and ``table.json``; ``evidence.json``, which keeps what was read
from evidence, also where that evidence is gone by now; and the figures as PNG and SVG, which ``figures.md`` shows.
"""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from attest.report.figures import save_png, to_svg
from attest.report.run_tables import as_text
from attest.report.tables.figures import table_figures
from attest.report.tables.page import provenance, table_page
from attest.report.tables.table import Entry, Folders, Key, read_kept, table_claims, table_numbers, write_kept
from attest.runs.belonging import require_together
from attest.runs.folder import RunFolder, read_json, write_atomically, write_json, write_text
from attest.runs.published_tables import PublishedTable, read_published


def write_results(configuration: Mapping[str, Any], name: str) -> Path:
    """Write one table from its finished runs, and return its folder.

    Args:
        configuration: the workflow: ``tables``, ``files``, ``results``, ``suffix``, ``command``, ``settings``.
    """
    experiment = read_published(Path(configuration["files"][name]))
    folders = finished(configuration["tables"][name])
    folder = RunFolder(Path(configuration["results"]) / f"{name}{configuration['suffix']}")
    with folder.claimed():
        _write(folder.path, experiment, folders, configuration)
    return folder.path


def _write(out: Path, experiment: PublishedTable, folders: Folders, configuration: Mapping[str, Any]) -> None:
    kept = read_kept(out)
    numbers, claims = table_numbers(experiment, folders, kept), table_claims(experiment, folders, kept)
    origin = provenance(folders, configuration["command"], configuration["settings"])
    write_text(out / "table.md", table_page(experiment, numbers, claims, origin))
    _draw(out, experiment.name, table_figures(experiment, numbers, folders))
    write_text(out / "table.csv", _as_csv(_without_entries(numbers)))
    write_kept(out, to_keep(numbers, claims))
    write_json(out / "table.json", {"numbers": _records(numbers), "claims": _records(claims), "provenance": origin})


def _draw(out: Path, table: str, drawings: Mapping[str, Figure]) -> None:
    for key, figure in drawings.items():
        write_text(out / f"{key}.svg", to_svg(figure))
        write_atomically(out / f"{key}.png", partial(save_png, figure))
    shown = [f"![{file.stem}]({file.name})" for file in sorted(out.glob("*.png"))]
    if shown:
        write_text(out / "figures.md", "\n\n".join([f"# Figures of {table}", *shown]) + "\n")


def finished(places: list[list[Any]]) -> Folders:
    """Return the folders of a table's finished runs by place (row, corpus, value of the sweep) and by seed."""
    found = {
        (row, data, at): {
            int(seed): Path(folder) for seed, folder in by_seed.items() if RunFolder(Path(folder)).summary.is_file()
        }
        for row, data, at, by_seed in places
    }
    require_together([RunFolder(folder) for folder in {folder for by_seed in found.values() for folder in by_seed.values()}])
    return found


def to_keep(numbers: pd.DataFrame, claims: pd.DataFrame) -> dict[Key, Entry]:
    """Return by key what to store of numbers and claims; those that were never computed from evidence are left out."""
    entries = {row["about"]: row["keep"] for rows in (numbers, claims) for row in rows.to_dict("records")}
    return {key: entry for key, entry in entries.items() if entry is not None}


def _as_csv(rows: pd.DataFrame) -> str:
    """Return the rows as CSV text; a spreadsheet reads no cell as a formula."""
    words = rows.select_dtypes("object")
    return rows.assign(**words.map(lambda cell: as_text(cell) if isinstance(cell, str) else cell)).to_csv(index=False)


def _without_entries(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns=["about", "keep"], errors="ignore")


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return _without_entries(rows).to_dict("records")


if __name__ == "__main__":
    configuration_file, table = sys.argv[1:]
    write_results(read_json(Path(configuration_file)), table)
