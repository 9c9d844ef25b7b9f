"""From run folders to ``results/<table>/``: the table as Markdown, CSV and JSON, and its figures.

python -m attest.tables.write results/workflow.json jw-2
"""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from attest.report.figures import to_svg
from attest.runs.folder import RunFolder, read_json, write_atomically, write_json, write_text
from attest.tables.definition import read_experiment
from attest.tables.drawing import table_figures
from attest.tables.page import table_page
from attest.tables.provenance import provenance
from attest.tables.table import Folders, table_claims, table_numbers

DPI = 150


def write_results(configuration: Mapping[str, Any], name: str) -> Path:
    """Write one table from those of its runs that are finished; returns its folder.

    Args:
        configuration: of the workflow: ``tables``, ``files``, ``results``, ``suffix``, ``command``, ``settings``.
        name: of the table.
    """
    experiment = read_experiment(Path(configuration["files"][name]))
    folders = finished(configuration["tables"][name])
    out = Path(configuration["results"]) / f"{name}{configuration['suffix']}"
    numbers, claims = table_numbers(experiment, folders), table_claims(experiment, folders)
    origin = provenance(folders, configuration["command"], configuration["settings"])
    drawings = table_figures(experiment, numbers, folders)
    for key, figure in drawings.items():
        write_text(out / f"{key}.svg", to_svg(figure))
        write_atomically(out / f"{key}.png", partial(figure.savefig, format="png", dpi=DPI))
    write_text(out / "table.md", table_page(experiment, numbers, claims, origin, list(drawings)))
    write_text(out / "table.csv", numbers.drop(columns="values").to_csv(index=False))
    write_json(out / "table.json", {"numbers": _records(numbers), "claims": _records(claims), "provenance": origin})
    return out


def finished(places: list[list[Any]]) -> Folders:
    """The folders of finished runs by place and seed."""
    return {
        (row, data, at): {
            int(seed): Path(folder) for seed, folder in by_seed.items() if RunFolder(Path(folder)).summary.is_file()
        }
        for row, data, at, by_seed in places
    }


def _records(rows: Any) -> list[dict[str, Any]]:
    return rows.to_dict("records")


if __name__ == "__main__":
    configuration_file, table = sys.argv[1:]
    write_results(read_json(Path(configuration_file)), table)
