"""Write one table from its finished runs: ``python -m attest.replication.write results/workflow.json jw-2``.

``results/<table>/`` then contains ``table.md``, ``table.csv`` and ``table.json``; ``evidence.json``, which keeps the numbers
from the evidence even if the evidence is deleted later; and the figures as PNG and SVG, which ``figures.md`` shows.
"""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from attest.replication.figures import table_figures
from attest.replication.page import provenance, table_page
from attest.replication.table import Entry, Folders, Key, read_kept, table_claims, table_numbers, write_kept
from attest.report.figures import save_png, to_svg
from attest.report.run_tables import as_text
from attest.runs.belonging import require_together
from attest.runs.folder import RunFolder, read_json, write_atomically, write_json, write_text
from attest.runs.published_tables import read_published


def write_results(configuration: Mapping[str, Any], name: str) -> Path:
    """Write one table from its finished runs, and return its folder.

    Args:
        configuration: the workflow: ``tables``, ``files``, ``results``, ``suffix``, ``command``, ``settings``.
    """
    experiment = read_published(Path(configuration["files"][name]))
    folders = finished(configuration["tables"][name])
    folder = RunFolder(Path(configuration["results"]) / f"{name}{configuration['suffix']}")
    with folder.claimed():
        out = folder.path
        kept = read_kept(out)
        numbers, claims = table_numbers(experiment, folders, kept), table_claims(experiment, folders, kept)
        origin = provenance(folders, configuration["command"], configuration["settings"])
        write_text(out / "table.md", table_page(experiment, numbers, claims, origin))
        for key, figure in table_figures(experiment, numbers, folders).items():
            write_text(out / f"{key}.svg", to_svg(figure))
            write_atomically(out / f"{key}.png", partial(save_png, figure))
        if shown := [f"![{file.stem}]({file.name})" for file in sorted(out.glob("*.png"))]:
            write_text(out / "figures.md", "\n\n".join([f"# Figures of {experiment.name}", *shown]) + "\n")
        write_kept(out, to_keep(numbers, claims))
        numbers, claims = (rows.drop(columns=["about", "keep"], errors="ignore") for rows in (numbers, claims))
        safe = numbers.map(lambda cell: as_text(cell) if isinstance(cell, str) else cell)  # no formula for a spreadsheet
        write_text(out / "table.csv", safe.to_csv(index=False))
        records = {name: rows.to_dict("records") for name, rows in (("numbers", numbers), ("claims", claims))}
        write_json(out / "table.json", records | {"provenance": origin})
    return out


def finished(places: list[list[Any]]) -> Folders:
    """Return the folders of a table's finished runs: a dictionary by row, corpus and sweep value, then by seed."""
    found = {
        (row, data, at): {
            int(seed): Path(folder) for seed, folder in by_seed.items() if RunFolder(Path(folder)).summary.is_file()
        }
        for row, data, at, by_seed in places
    }
    require_together([RunFolder(folder) for folder in {folder for by_seed in found.values() for folder in by_seed.values()}])
    return found


def to_keep(numbers: pd.DataFrame, claims: pd.DataFrame) -> dict[Key, Entry]:
    """Return the numbers and claims of a results table by key, without those that were never computed."""
    entries = {row["about"]: row["keep"] for rows in (numbers, claims) for row in rows.to_dict("records")}
    return {key: entry for key, entry in entries.items() if entry is not None}


if __name__ == "__main__":
    configuration_file, table = sys.argv[1:]
    write_results(read_json(Path(configuration_file)), table)
