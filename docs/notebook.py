"""Execute the notebooks and store what they show: ``python -m docs.notebook``. A test executes them again and compares."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = (EXAMPLES / "attention_on_trial.ipynb", EXAMPLES / "teaching_attention.ipynb")


def executed(notebook: Path, folder: Path) -> nbformat.NotebookNode:
    """Execute a notebook in a folder, and return it with what its cells print and show, without progress bars.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    made = nbformat.read(notebook, as_version=4)
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                each for each in cell.outputs if each.output_type == "execute_result" or each.get("name") == "stdout"
            ]
    return made


def values(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the value of the last line of each code cell, as plain text."""
    return [each.data["text/plain"] for cell in notebook.cells for each in cell.get("outputs", []) if "data" in each]


if __name__ == "__main__":
    for each in NOTEBOOKS:
        with TemporaryDirectory() as folder:
            nbformat.write(executed(each, Path(folder)), each)
